// Reads files of the user, batch by batch, as rows of a trained model's input.
#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/sample.h"

namespace spire::inline inference {

struct ListedInput {
  std::filesystem::path path;
  std::filesystem::path name;  // of the file; within a given folder: relative to the folder
};

struct RowOrigin {
  ListedInput file;   // empty names: a sample of a dataset
  int64_t row = 0;    // in its file, from 0; counts skipped rows, not a table's header
  bool only = false;  // the file is one row: an image
};

struct InputReport {
  std::function<void(const std::string&)> problem;  // a skipped file or row; may throw to stop
  std::function<void(const std::string&)> note;     // such as columns that are ignored
};

class InputRows {
 public:
  virtual ~InputRows() = default;

  // Writes up to `max_rows` rows of the spec's first column; returns their origins, or none.
  virtual std::vector<RowOrigin> read(int64_t max_rows, std::byte* rows) = 0;
};

// Lists the files that the words name; a folder: all images below it, sorted. Reports names that do
// not exist, and folders for a model that reads tables.
std::vector<ListedInput> list_inputs(const std::vector<std::string>& words, const SampleSpec& spec,
                                     const InputReport& report);

// Opens files for a model; `spec` and `config` are its checkpoint's. Rows are normalized by the
// spec. Throws Error(config) for a model of neither images nor features.
std::unique_ptr<InputRows> open_inputs(std::vector<ListedInput> files, const SampleSpec& spec,
                                       const DataConfig& config, const InputReport& report);

// Opens JPEG, PNG and IDX files, for open_inputs(). Throws Error(config) unless 1 or 3 channels.
std::unique_ptr<InputRows> open_image_rows(std::vector<ListedInput> files, const SampleSpec& spec,
                                           const DataConfig& config, const InputReport& report);
// Opens CSV files, for open_inputs().
std::unique_ptr<InputRows> open_table_rows(std::vector<ListedInput> files, const SampleSpec& spec,
                                           const CsvConfig& config, const InputReport& report);

// Calls read(); reports an Error(data) and then returns false.
bool try_reading(const InputReport& report, const std::function<void()>& read);

}  // namespace spire::inline inference
