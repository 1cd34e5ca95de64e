// Whether the names and numbers of an HDF5 file's datasets bear out what their types are taken for.
// Private to this folder. A user says otherwise by data.hdf5.task.
#pragma once
#include "engine/data/formats/hdf5_table.h"

namespace spire::inline data {

// task: data.hdf5.task. Throws Error(data), with what to store or set, for
//   floating-point targets that are labels by name, or one-hot rows, or whole and few numbers
//   without the name values;
//   tokens by name whose target is no token after each, and features by name that have such ones;
//   a task that the target's type does not allow.
void require_evidence(const Hdf5Table& table, TargetKind task);

// Throws Error(data) where integers that are not called labels show about as many classes as there
// are rows, and no attribute says that they are classes.
void require_rows_a_class(const Hdf5Table& table, TargetKind task, int64_t classes);

// A line that names the datasets of `there` (Hdf5Table::neighbors() of both halves) that are not
// among `used`; none when all are.
std::vector<std::string> tell_unused(const std::filesystem::path& path,
                                     const std::set<std::string>& used,
                                     const std::set<std::string>& there);

}  // namespace spire::inline data
