// Rows of the tables of a file's parts as datasets: their schema, and how their numbers are checked
// and normalized.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/dataset.h"
#include "engine/data/formats/row_table.h"
#include "engine/data/images/augment.h"
#include "engine/data/images/image_dataset.h"

namespace spire {

struct RowParts {
  std::unique_ptr<const RowTable> train, test, val = nullptr;  // val: null if there is none
  int64_t statistics_rows = 1;                                 // rows read at a time for statistics
};

// task: data.hdf5.task or data.npy.task. notes: for the user; notes on labels are added. Throws
// Error(data) if the parts have different columns, and what infer_schema() throws.
DatasetPair open_rows(RowParts parts, const DataConfig& config, const ReadOptions& options,
                      TargetKind task, std::vector<std::string> notes);

// Infers columns, classes and normalization from the config, else from attributes, else from
// training rows, which are read in blocks of block_rows. task: of data.<name>; if it is not auto,
// it only has to agree with the types. Appends notes on labels. Throws Error(data), also if names
// or numbers of arrays contradict the task that the types imply.
SampleSpec infer_schema(const RowTable& table, int64_t block_rows, TargetKind task,
                        const DataConfig& config, const ReadOptions& options,
                        std::vector<std::string>& notes);

struct StoredRow {                                           // how RowTable::read() gives rows
  DType input = DType::f32;                                  // dtype of the input
  double unit = 1;                                           // as RowTable::unit()
  std::vector<std::string> locations;                        // of input and target, for messages
  std::function<int64_t(int64_t)> row_of = std::identity();  // RowTable::stored_row(), for messages
};

// Returns x * unit, rounded to fp32.
inline double in_unit(float x, double unit) {
  return unit == 1 ? double{x} : double{static_cast<float>(x * unit)};
}

class RowDecoder {  // immutable, hence thread-safe
 public:
  // spec: of the batch, except that images have the stored size; for write_input() alone it needs
  // no target. Throws Error(config) if `augment` or `sizing` needs images of 8 bits and the stored
  // ones have others, and for target images of another size or that cannot follow an augmentation.
  RowDecoder(const SampleSpec& spec, StoredRow stored, const DataConfig& config,
             const AugmentConfig& augment, const StoredSizing& sizing, const ReadOptions& options);

  const SampleSpec& spec() const { return spec_; }  // of the batch

  // Writes the stored input and target of `sample` to row `row` of the columns. Throws Error(data)
  // for a number that is not finite, or a label or token out of range.
  void write(const std::byte* input, const std::byte* target, int64_t sample, int64_t epoch,
             size_t row, std::span<std::byte* const> columns) const;

  // Writes the input alone.
  void write_input(const std::byte* stored, int64_t sample, int64_t epoch, std::byte* out) const;

 private:
  void prepare_target(const DataConfig& config, const AugmentConfig& augment,
                      const ReadOptions& options);
  void write_pixels(const uint8_t* stored, int64_t sample, int64_t epoch, std::byte* out) const;
  void write_numbers(const std::byte* stored, int64_t sample, std::byte* out) const;
  double number(const std::byte* stored, size_t index) const;
  void write_classes(size_t column, int64_t classes, const std::byte* stored, int64_t sample,
                     std::byte* out) const;
  [[noreturn]] void refuse_class(size_t column, int64_t classes, int32_t number,
                                 int64_t sample) const;
  void write_values(const float* stored, int64_t sample, std::byte* out) const;

  SampleSpec spec_;
  StoredRow stored_;
  Normalization normalization_;              // empty: numbers stay as they are
  int64_t tokens_ = 0;                       // ids of tokens are below it
  std::optional<StoredImageWriter> images_;  // of 8 bits
  std::optional<ImageWriter> targets_;       // of target_images and masks
  std::optional<MaskValues> masks_;
};

}  // namespace spire
