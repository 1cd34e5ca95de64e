// Files of a user's own as rows of a trained model's input: images, IDX files of images, tables.
// They are read batch by batch, so that memory does not grow with them, and need no dataset.
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
  std::filesystem::path name;  // the file's name; of one within a given folder: relative to that
};

struct RowOrigin {
  ListedInput file;   // empty names: a sample of a dataset
  int64_t row = 0;    // of its file, from 0; broken ones are counted, a table's header is not
  bool only = false;  // a file that is one row: an image
};

// What happens on the way. Either may throw, which ends the reading.
struct InputReport {
  // A file or row cannot be read, and is left out unless this throws: file, place, reason.
  std::function<void(const std::string&)> problem;
  std::function<void(const std::string&)> note;  // worth knowing: columns that are not read
};

class InputRows {
 public:
  virtual ~InputRows() = default;

  // Writes the next rows, `most` or, at the end, fewer, to `rows`, as the spec's first column has
  // them; returns where each is from. None: there are no more.
  virtual std::vector<RowOrigin> read(int64_t most, std::byte* rows) = 0;
};

// The files that the words name, in their order; of a folder all images in it and in its folders,
// sorted. What is not there is a problem, as is a folder for a model that reads no images.
std::vector<ListedInput> list_inputs(const std::vector<std::string>& words, const SampleSpec& spec,
                                     const InputReport& report);

// spec, config: of the checkpoint. Images: JPEG, PNG and IDX, told by their first bytes. Tables:
// CSV. All are normalized by the spec. Throws Error(config) for a model of other things.
std::unique_ptr<InputRows> open_inputs(std::vector<ListedInput> files, const SampleSpec& spec,
                                       const DataConfig& config, const InputReport& report);

// Calls read(); an Error(data) becomes a problem. False when there was one.
bool try_reading(const InputReport& report, const std::function<void()>& read);

}  // namespace spire::inline inference
