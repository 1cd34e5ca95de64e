// Reads the user's own files, batch by batch, as rows of a trained model's input.
#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/sample.h"

namespace spire::inline inference {

struct ListedInput {
  std::filesystem::path path;
  std::filesystem::path name;  // file name, or path relative to the folder that the user gave
};

struct RowOrigin {
  ListedInput file;   // empty for a sample of a dataset
  int64_t row = 0;    // index in the file, from 0; skipped rows count, a table's header does not
  bool only = false;  // the file has a single row, as an image does
  // What the input says that the row is, if it says so: a class, or values.
  std::optional<int64_t> label = {};
  std::vector<float> values = {};

  bool has_truth() const { return label || !values.empty(); }
};

// Callbacks; each may throw, which ends the reading.
struct InputReport {
  std::function<void(const std::string&)> problem;  // a file or row was skipped
  std::function<void(const std::string&)> note;     // for example ignored columns
};

class InputRows {
 public:
  virtual ~InputRows() = default;

  // Writes up to `max_rows` rows of the spec's first column; returns their origins (empty: end).
  virtual std::vector<RowOrigin> read(int64_t max_rows, std::byte* rows) = 0;
  // Whether the names of the files alone show that some rows have a truth.
  virtual bool names_tell_truth() const { return false; }
};

// Lists the files that `words` name; a folder stands for all images below it, sorted. Reports as a
// problem a name that does not exist, and a folder if the model reads no images.
std::vector<ListedInput> list_inputs(const std::vector<std::string>& words, const SampleSpec& spec,
                                     const InputReport& report);

// Opens files for a model: images, tables, arrays. spec, config: from its checkpoint. Rows are
// normalized as the spec says. Throws Error(config) for a model that reads tokens, or sequences,
// and a file that has no arrays.
std::unique_ptr<InputRows> open_inputs(std::vector<ListedInput> files, const SampleSpec& spec,
                                       const DataConfig& config, const InputReport& report);

// Opens JPEG, PNG and IDX files for open_inputs(). Throws Error(config) unless C is 1 or 3.
std::unique_ptr<InputRows> open_image_rows(std::vector<ListedInput> files, const SampleSpec& spec,
                                           const DataConfig& config, const InputReport& report);
// Opens CSV files, for open_inputs().
std::unique_ptr<InputRows> open_table_rows(std::vector<ListedInput> files, const SampleSpec& spec,
                                           const CsvConfig& config, const InputReport& report);

// Opens .npy, .npz and HDF5 files, for open_inputs(). config: names their arrays.
std::unique_ptr<InputRows> open_array_rows(std::vector<ListedInput> files, const SampleSpec& spec,
                                           const DataConfig& config, const InputReport& report);

// Returns the class of this name; nullopt if there is none. Numbers may be spelled otherwise: 1.0.
std::optional<int64_t> class_named(const SampleSpec& spec, const std::string& name);

// Calls read(). If it throws Error(data), reports that as a problem and returns false.
bool try_reading(const InputReport& report, const std::function<void()>& read);

}  // namespace spire::inline inference
