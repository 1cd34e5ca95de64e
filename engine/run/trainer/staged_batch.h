// Samples of the calling program: what their columns may be and how many there are, and a batch in
// memory from which devices read, filled from them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spire/dataset.h>
#include <spire/run_config.h>
#include <spire/trainer.h>

#include "engine/data/array_column.h"
#include "engine/data/loader.h"
#include "engine/device/device_memory.h"
#include "engine/train/placement/placement.h"

namespace spire {

// Rows of a column in the caller's memory, read in the column's dtype: at once where they lie there
// one behind the other as fp32 or integers, else number by number (ArrayColumn).
class GivenRows {
 public:
  // The column and the caller's memory outlive this. REQUIRES: check_rows() passes.
  GivenRows(const Column& column, const ColumnRows& rows, int64_t count);

  // Return the rows from `first` on where they lie as in a batch, on the host or on a GPU, else
  // null.
  const std::byte* in_place(int64_t first) const;
  const std::byte* on_gpu(int64_t first) const;
  void copy(int64_t first, int64_t count, std::byte* to) const;

 private:
  const Column& column_;
  const std::byte* dense_;
  DeviceId device_;  // where dense rows are
  std::optional<ArrayColumn> array_;
};

// Throws Error(config) unless `rows` are `count` rows of the column, as far as `rows` has a dtype
// and a shape, and numbers that its dtype holds.
void check_rows(const Column& column, const ColumnRows& rows, int64_t count);

// The same for all columns of `samples`, and their rows, which the spec and the samples outlive.
// Throws Error(config) also for another number of columns than the spec's.
std::vector<GivenRows> given_rows(const SampleSpec& spec, const Samples& samples);

// Throws Error(data), with the sample's index, the number and the range, for labels outside [0,
// classes), masks outside [-1, classes), tokens outside the vocabulary, and positions that do not
// count from 0 in each document. If there are labels, the spec has their number of classes but no
// size of a vocabulary, so tokens only must not be negative. Other columns may have any numbers.
void check_indices(const SampleSpec& spec, const Column& column, const GivenRows& rows,
                   int64_t count);

// Throws Error(data) for values other than 0 and 1, which loss.name: binary needs.
void check_binary(const Column& column, const GivenRows& rows, int64_t count);

// Returns the first number of a batch that is not finite, as "column 'x' of sample 3 is nan"; "" if
// there is none. Columns that are null are left out. rows: of this process. sample_of: the number
// of the sample in a row of the global batch.
std::string non_finite_number(const std::vector<Column>& columns, const Batch& batch, int64_t rows,
                              const std::function<int64_t(int64_t row)>& sample_of);

class StagedBatch {
 public:
  // Allocates memory for the rows of this process's towers, pinned for GPUs.
  StagedBatch(const std::vector<Column>& columns, const Placement& placement);

  // Takes rows [first, first + count) of all columns, at most a global batch; other rows are zero.
  // GPUs read dense rows on a GPU there, all else is copied. Valid until the next call.
  const Batch& fill(const std::vector<GivenRows>& given, int64_t first, int64_t count);
  Batch on_host() const;  // columns that are on a GPU are null
  int64_t rows() const { return rows_; }

 private:
  std::vector<Column> columns_;
  bool on_gpus_;
  int64_t first_row_, rows_;  // this process's rows of the global batch
  std::unique_ptr<DeviceMemory> memory_;
  std::vector<std::byte*> starts_;  // of the columns
  Batch batch_;
};

// Returns datasets without samples, with the columns of `spec`; images and features get the run's
// dtype. Without TrainerOptions::train_samples an epoch has no end. Throws Error(config) for
// negative numbers of samples, and for a column that Spire knows but `spec` declares with another
// dtype than callers must pass.
DataSource callers_data(const SampleSpec& spec, const TrainerOptions& options);

// Throws Error(config) for config keys that need what batches of the caller do not tell: an epoch's
// length for the schedule, or datasets whose samples are mixed.
void check_config_for_batches(const RunConfig& config, const TrainerOptions& options);

}  // namespace spire
