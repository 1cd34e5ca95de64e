// Tables in Parquet files and in Arrow's IPC files (Feather version 2, and streams), by Apache
// Arrow. A build without it refuses them, and says so.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "engine/data/tables/record_reader.h"

namespace spire {

// Opens the file. Its first record is the columns' names. A field is what a CSV file would have:
// the shortest text of a number, "true" and "false", an ISO date, a word of a dictionary, and
// nothing for a null or a NaN. Record batches are read one by one. Throws Error(data), also from
// next(), for a damaged file, and FileChanged for one that is written meanwhile.
std::unique_ptr<RecordReader> open_arrow_records(const std::filesystem::path& path);

// Calls use(row, text) for each row, from 1 on, of the column `column`, but for nulls and empty
// texts. Throws Error(data) where there is no such column, or its values are no texts.
using UseArrowText = std::function<void(int64_t row, const std::string& text)>;
void for_each_arrow_text(const std::filesystem::path& path, const std::string& column,
                         const UseArrowText& use);

}  // namespace spire
