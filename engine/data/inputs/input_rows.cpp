// Rows of the user's files: lists the files, chooses a reader for each by its first bytes, and
// reads one file after another.
#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/data/images/image_folder.h"
#include "engine/data/inputs/file_reader.h"
#include "engine/data/tables/field_text.h"
#include "engine/data/text/encoding.h"

namespace spire {
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

// Calls read(). If it throws Error(data), reports that as a problem.
void try_reading(const InputReport& report, const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;  // such as a full memory
    report.problem(error.what());
  }
}

std::unique_ptr<FileReader> reader_of(const fs::path& path, const InputContext& context) {
  if (is_array_file(path)) return array_reader(context);
  const Column& input = context.spec.columns[0];
  if (input.name == "images") return image_reader(context);
  if (is_table(input)) return table_reader(context);
  fail(
      Category::config,
      "the model reads {} {}, which are read from .npy, .npz and HDF5 files, but {} is none; leave "
      "out the inputs to predict for the test data",
      input.name, to_string(input.shape), path.string());
}

class FileRows : public InputRows {
 public:
  FileRows(std::vector<ListedInput> files, InputContext context)
      : context_(std::move(context)), files_(std::move(files)) {
    for (const ListedInput& file : files_) {
      auto& reader = readers_[is_array_file(file.path) ? 1 : 0];
      if (!reader) reader = reader_of(file.path, context_);
      reader_of_file_.push_back(reader.get());
    }
  }

  std::vector<RowOrigin> read(int64_t max_rows, std::byte* rows) override {
    size_t row_bytes = context_.spec.columns[0].row_bytes();
    std::vector<RowOrigin> origins;
    while (std::ssize(origins) < max_rows && (open_ || next_ < files_.size()))
      try_reading(context_.report, [&] {
        if (!open_) {
          ++next_;  // also where it cannot be opened
          reader_of_file_[next_ - 1]->open(files_[next_ - 1].path);
          open_ = true;
        }
        auto origin = reader_of_file_[next_ - 1]->next(rows + origins.size() * row_bytes);
        open_ = origin.has_value();
        if (!origin) return;
        origin->file = files_[next_ - 1];
        origins.push_back(std::move(*origin));
      });
    return origins;
  }
  bool names_tell_truth() const override {
    for (size_t i = 0; i < files_.size(); ++i)
      if (reader_of_file_[i]->name_tells_truth(files_[i].path)) return true;
    return false;
  }

 private:
  InputContext context_;
  std::vector<ListedInput> files_;
  std::array<std::unique_ptr<FileReader>, 2> readers_;  // of images or tables, and of arrays
  std::vector<FileReader*> reader_of_file_;
  size_t next_ = 0;    // index in files_ of the next file
  bool open_ = false;  // whether files_[next_ - 1] is open and may have rows
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
  return std::make_unique<FileRows>(std::move(files), InputContext{spec, config, report});
}

}  // namespace spire
