// Infers the schema of samples that are rows of arrays: columns, classes, normalization.
#pragma once
#include <spire/run_config.h>

#include "engine/data/dataset.h"
#include "engine/data/formats/row_table.h"

namespace spire {

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
