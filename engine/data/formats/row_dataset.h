// Opens the tables of a file's parts as datasets.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/dataset.h"
#include "engine/data/formats/row_table.h"

namespace spire {

struct RowParts {
  std::unique_ptr<const RowTable> train, test, val = nullptr;  // val: null if there is none
  int64_t statistics_rows = 1;                                 // read together
};

// task: data.hdf5.task or data.npy.task. notes: for the user, to which those on labels are added.
// Throws Error(data) where the parts have different columns, and what infer_schema() throws.
DatasetPair open_rows(RowParts parts, const DataConfig& config, const ReadOptions& options,
                      TargetKind task, std::vector<std::string> notes);

// Infers the schema of samples that are rows of arrays: columns, classes, normalization.

// Infers from the config, else from attributes, else from training rows, which are read in blocks
// of block_rows. task: of data.<name>. Appends notes on labels. Throws Error(data).
SampleSpec infer_schema(const RowTable& table, int64_t block_rows, TargetKind task,
                        const DataConfig& config, const ReadOptions& options,
                        std::vector<std::string>& notes);

// Throws Error(data) unless both have the same columns.
void require_same_columns(const RowTable& train, const RowTable& test);

// Throw Error(data) if names or numbers of arrays contradict the task that the types imply. task:
// if it is not auto, it only has to agree with the types.
void require_plausible_task(const RowTable& table, TargetKind task);
void require_plausible_classes(const RowTable& table, TargetKind task, int64_t classes);

}  // namespace spire
