// Samples of the calling program: what their columns may be and how many there are, and a batch in
// memory from which devices read, filled from them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

  // The rows from `first` on where they lie as in a batch, else null.
  const std::byte* in_place(int64_t first) const;
  void copy(int64_t first, int64_t count, std::byte* to) const;

 private:
  const Column& column_;
  const std::byte* dense_;
  std::optional<ArrayColumn> array_;
};

// Throws Error(config) unless `rows` are `count` rows of the column, as far as `rows` has a dtype
// and a shape, and numbers that its dtype holds.
void check_rows(const Column& column, const ColumnRows& rows, int64_t count);

// Throws Error(data), with the sample's index, the number and the range, for labels outside [0,
// classes), masks outside [-1, classes), tokens outside the vocabulary, and positions that do not
// count from 0 in each document. If there are labels, the spec has their number of classes but no
// size of a vocabulary, so tokens only must not be negative. Other columns may have any numbers.
void check_indices(const SampleSpec& spec, const Samples& samples);
// The same for `count` rows of one column.
void check_indices(const SampleSpec& spec, const Column& column, const ColumnRows& rows,
                   int64_t count);

// Throws Error(data) for values other than 0 and 1, which loss.name: binary needs.
void check_binary(const SampleSpec& spec, const Samples& samples);

class StagedBatch {
 public:
  // Allocates memory for the rows of this process's towers, pinned for GPUs.
  StagedBatch(const std::vector<Column>& columns, const Placement& placement);

  // Throws Error(config) for another number of columns than the data's, and as check_rows().
  void check(const Samples& samples) const;
  // Copies rows [first, first + count) of `samples`, at most a global batch; other rows are zero.
  // Valid until the next call. REQUIRES: check() passes.
  const Batch& fill(const Samples& samples, int64_t first, int64_t count);

 private:
  std::vector<Column> columns_;
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
