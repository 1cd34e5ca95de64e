// Columns of a table that number its rows, as programs write them beside the data. A model that
// reads one learns the order of the file.
#pragma once
#include "engine/data/formats/csv_table.h"

namespace spire::inline data {

// With data.csv.ignore auto: a feature of whole numbers, all of them different, that has no name or
// is called id, index, row, "Unnamed: 0" or the like is left out of `layout` and of `rows`, those
// of the training file. Returns what to tell the user, a line a column: those that are left out,
// and those that count the rows one by one but have another name, which stay. Throws Error(data)
// where no feature would be left.
std::vector<std::string> leave_out_row_numbers(const std::filesystem::path& path,
                                               const CsvConfig& config, CsvLayout& layout,
                                               CsvRows& rows);

}  // namespace spire::inline data
