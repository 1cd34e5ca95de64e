// Opens the tables of a file's parts as datasets.
#pragma once
#include <memory>
#include <string>
#include <vector>

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

}  // namespace spire
