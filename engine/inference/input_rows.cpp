#include "engine/inference/input_rows.h"

#include <algorithm>
#include <utility>

#include <spire/error.h>

#include "engine/base/read_file.h"
#include "engine/data/images/image_folder.h"
#include "engine/data/tables/csv_table.h"
#include "engine/data/text/unicode_form.h"
#include "engine/inference/sample_arrays.h"

namespace spire::inline inference {
namespace {

namespace fs = std::filesystem;

bool is_table(const Column& input) {
  return input.name == "features" && input.shape.rank() == 1;
}

// Appends the files of one word; throws Error(data) where it names none.
void list_input(const std::string& word, const Column& input, std::vector<ListedInput>& files) {
  fs::path path = word;
  if (!is_there(path))
    fail(Category::data, "{}: there is no such file or folder; correct the name", word);
  // A file keeps the name that the user gave; those of a folder are named relative to it.
  std::error_code error;
  if (!fs::is_directory(path, error)) return files.push_back({path, path.filename()});
  if (input.name != "images")
    fail(Category::data, "{}: is a folder, but the model reads {}; name {} files", word, input.name,
         is_table(input) ? "CSV, .npy, .npz or HDF5" : ".npy, .npz or HDF5");
  for (const fs::path& name : images_within(path)) files.push_back({path / name, name});
}

// Files without arrays.
std::unique_ptr<InputRows> open_other_rows(std::vector<ListedInput> files, const SampleSpec& spec,
                                           const DataConfig& config, const InputReport& report) {
  const Column& input = spec.columns[0];
  if (input.name == "images") return open_image_rows(std::move(files), spec, config, report);
  if (is_table(input)) return open_table_rows(std::move(files), spec, config.csv, report);
  fail(
      Category::config,
      "the model reads {} {}, which are read from .npy, .npz and HDF5 files, but {} is none; leave "
      "out the inputs to predict for the test data",
      input.name, to_string(input.shape), files.front().path.string());
}

// Groups of files, one after the other.
class RowsInTurn : public InputRows {
 public:
  explicit RowsInTurn(std::vector<std::unique_ptr<InputRows>> groups)
      : groups_(std::move(groups)) {}

  std::vector<RowOrigin> read(int64_t max_rows, std::byte* rows) override {
    for (; now_ < groups_.size(); ++now_)
      if (auto origins = groups_[now_]->read(max_rows, rows); !origins.empty()) return origins;
    return {};
  }
  bool names_tell_truth() const override {
    return std::ranges::any_of(groups_,
                               [](const auto& group) { return group->names_tell_truth(); });
  }

 private:
  std::vector<std::unique_ptr<InputRows>> groups_;
  size_t now_ = 0;  // index of the group that is read
};

// Images of a damaged checkpoint may have another shape than those of any dataset.
void check_images(const SampleSpec& spec) {
  const Column& input = spec.columns[0];
  if (input.name != "images") return;
  size_t means = spec.normalization.mean.size();
  bool image = input.shape.rank() == 3;
  if (image && (means == 0 || std::cmp_equal(means, input.shape.back()))) return;
  fail(Category::checkpoint,
       "images of shape {} with {} means for their channels cannot be; the checkpoint is damaged, "
       "use another one",
       to_string(input.shape), means);
}

}  // namespace

std::optional<int64_t> class_named(const SampleSpec& spec, const std::string& name) {
  std::string_view word = trimmed(name);
  if (auto found = find_name(spec.class_names, word)) return static_cast<int64_t>(*found);
  std::optional<double> number = finite_number(word);
  if (!number) return {};
  for (size_t i = 0; i < spec.class_names.size(); ++i)
    if (finite_number(spec.class_names[i]) == number) return static_cast<int64_t>(i);
  return {};
}

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
  for (const std::string& word : words)
    try_reading(report, [&] { list_input(word, spec.columns[0], files); });
  return files;
}

std::unique_ptr<InputRows> open_inputs(std::vector<ListedInput> files, const SampleSpec& spec,
                                       const DataConfig& config, const InputReport& report) {
  check_images(spec);
  std::vector<std::unique_ptr<InputRows>> groups;
  for (size_t first = 0; first < files.size();) {
    bool arrays = is_array_file(files[first].path);
    size_t end = first;
    std::vector<ListedInput> group;
    while (end < files.size() && is_array_file(files[end].path) == arrays)
      group.push_back(files[end++]);
    groups.push_back(arrays ? open_array_rows(std::move(group), spec, config, report)
                            : open_other_rows(std::move(group), spec, config, report));
    first = end;
  }
  return std::make_unique<RowsInTurn>(std::move(groups));
}

}  // namespace spire::inline inference
