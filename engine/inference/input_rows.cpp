#include "engine/inference/input_rows.h"

#include <utility>

#include <spire/error.h>

#include "engine/base/read_file.h"
#include "engine/data/images/image_folder.h"

namespace spire::inline inference {
namespace {

namespace fs = std::filesystem;

// Appends the files of one word; throws Error(data) where it names none.
void list_input(const std::string& word, bool images, std::vector<ListedInput>& files) {
  fs::path path = word;
  if (!is_there(path))
    fail(Category::data, "{}: there is no such file or folder; correct the name", word);
  // A file keeps the name that the user gave; those of a folder are named relative to it.
  std::error_code error;
  if (!fs::is_directory(path, error)) return files.push_back({path, path.filename()});
  if (!images)
    fail(Category::data, "{}: is a folder, but the model reads tables; name CSV files", word);
  for (const fs::path& name : images_within(path)) files.push_back({path / name, name});
}

}  // namespace

bool try_reading(const InputReport& report, const std::function<void()>& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;  // such as a full memory
    report.problem(error.what());
    return false;
  }
}

std::vector<ListedInput> list_inputs(const std::vector<std::string>& words, const SampleSpec& spec,
                                     const InputReport& report) {
  // Each name is tried alone, so that one that is wrong does not hide the others.
  std::vector<ListedInput> files;
  bool images = spec.columns[0].name == "images";
  for (const std::string& word : words)
    try_reading(report, [&] { list_input(word, images, files); });
  return files;
}

std::unique_ptr<InputRows> open_inputs(std::vector<ListedInput> files, const SampleSpec& spec,
                                       const DataConfig& config, const InputReport& report) {
  const std::string& kind = spec.columns[0].name;
  if (kind == "images") return open_image_rows(std::move(files), spec, config, report);
  if (kind == "features") return open_table_rows(std::move(files), spec, config.csv, report);
  fail(Category::config,
       "the model reads {}, but only images and tables can be read from files; leave out the "
       "inputs to predict for the test data",
       kind);
}

}  // namespace spire::inline inference
