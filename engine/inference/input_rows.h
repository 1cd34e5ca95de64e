// Reads a user's own files as rows of a trained model's input: images, IDX files of images, tables.
// Files are read batch by batch, so memory does not grow with them. No dataset is needed.
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
  std::filesystem::path path;  // of a file
  std::filesystem::path name;  // file name; within a given folder: relative to the folder
};

struct RowOrigin {
  ListedInput file;   // empty names: a sample of a dataset
  int64_t row = 0;    // in its file, from 0; counts broken rows, not a table's header
  bool only = false;  // the file is one row: an image
};

// Receives events while inputs are read. A callback may throw, which ends the reading.
struct InputReport {
  // A file or row that cannot be read, and is skipped: file, place, reason.
  std::function<void(const std::string&)> problem;
  std::function<void(const std::string&)> note;  // such as columns that are ignored
};

class InputRows {
 public:
  virtual ~InputRows() = default;

  // Writes up to `max_rows` rows of the spec's first column to `rows` and returns their origins;
  // none at the end.
  virtual std::vector<RowOrigin> read(int64_t max_rows, std::byte* rows) = 0;
};

// Lists the files that the words name, in their order; a folder stands for all images below it,
// sorted. Reports names that do not exist, and folders for a model that reads tables, as problems.
std::vector<ListedInput> list_inputs(const std::vector<std::string>& words, const SampleSpec& spec,
                                     const InputReport& report);

// Opens files for a checkpoint's model; `spec` and `config` are the checkpoint's. Rows are
// normalized by the spec. Throws Error(config) for a model of neither images nor features.
std::unique_ptr<InputRows> open_inputs(std::vector<ListedInput> files, const SampleSpec& spec,
                                       const DataConfig& config, const InputReport& report);

// The two kinds; called by open_inputs() only. Images: JPEG, PNG and IDX, told by their first
// bytes. Throws Error(config) for models of images of other than 1 or 3 channels.
std::unique_ptr<InputRows> open_image_rows(std::vector<ListedInput> files, const SampleSpec& spec,
                                           const DataConfig& config, const InputReport& report);
// Tables: CSV; `config` says separator, header and target.
std::unique_ptr<InputRows> open_table_rows(std::vector<ListedInput> files, const SampleSpec& spec,
                                           const CsvConfig& config, const InputReport& report);

// Calls read() and reports an Error(data) as a problem. Returns false where there was one.
bool try_reading(const InputReport& report, const std::function<void()>& read);

}  // namespace spire::inline inference
