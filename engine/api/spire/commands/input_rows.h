// Inputs of a trained model, batch by batch: the user's own files, or the test data of a run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spire/export.h>
#include <spire/run_config.h>
#include <spire/sample_spec.h>

namespace spire {

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

// Callbacks, all set, on the thread that reads; each may throw, which ends the reading.
struct InputReport {
  std::function<void(const std::string&)> problem;  // a file or row was skipped
  std::function<void(const std::string&)> note;     // for example ignored columns
};

class SPIRE_API InputRows {  // one thread at a time
 public:
  virtual ~InputRows() = default;

  // Writes up to `max_rows` rows of the spec's first column; returns their origins (empty: end).
  virtual std::vector<RowOrigin> read(int64_t max_rows, std::byte* rows) = 0;
  // Whether the names of the files alone show that some rows have a truth.
  virtual bool names_tell_truth() const { return false; }
};

// Lists the files that `words` name; a folder stands for all images below it, sorted. Reports as a
// problem a name that does not exist, and a folder if the model reads no images.
SPIRE_API std::vector<ListedInput> list_inputs(const std::vector<std::string>& words,
                                               const SampleSpec& spec, const InputReport& report);

// Opens files for a model: images, tables, arrays. spec, config: from its checkpoint. Rows are
// normalized as the spec says. Throws Error(config) for a model that reads tokens, or sequences,
// and a file that has no arrays.
SPIRE_API std::unique_ptr<InputRows> open_inputs(std::vector<ListedInput> files,
                                                 const SampleSpec& spec, const DataConfig& config,
                                                 const InputReport& report);

// The test data of a run, in order, each sample with its label or values as the truth.
struct TestRows {
  std::unique_ptr<InputRows> rows;
  std::vector<std::string> notes;            // for the user
  std::vector<std::filesystem::path> files;  // that are read, training data included
};

// config: of the run. spec: the trained model's. model: its name in messages. classes: whether the
// data's classes must be those of the spec. all_test: where no file is named as test data all
// samples are, not a share of them. Throws Error(config), Error(data).
SPIRE_API TestRows open_test_rows(const RunConfig& config, const SampleSpec& spec,
                                  const std::string& model, bool classes, bool all_test = false);

}  // namespace spire
