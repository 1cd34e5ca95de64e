#include "engine/data/images/image_pairs.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/data/images/augment.h"
#include "engine/data/images/image_dataset.h"
#include "engine/data/images/image_folder.h"
#include "engine/data/images/image_formats.h"
#include "engine/data/images/resized_crop.h"
#include "engine/data/input_file.h"
#include "engine/data/part_names.h"
#include "engine/data/sample_reading.h"
#include "engine/data/tables/csv_table.h"
#include "engine/data/tables/record_reader.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

fs::path stem_of(fs::path name) {
  return name.replace_extension();
}

// Returns the images below a folder by their relative paths without extension.
std::map<fs::path, fs::path> images_by_stem(const fs::path& folder) {
  if (!is_folder(folder))
    fail(Category::data,
         "{}: is not a folder; image_pairs needs the folders input and target, with files of the "
         "same names",
         folder.string());
  std::map<fs::path, fs::path> images;
  for (const fs::path& name : images_within(folder)) {
    auto [other, added] = images.emplace(stem_of(name), name);
    if (!added)
      fail(Category::data,
           "{}: {} and {} have one name but for the extension; rename or remove one",
           folder.string(), other->second.string(), name.string());
  }
  return images;
}

constexpr const char* header_of_pairs = "input,target";

bool is_header(const CsvRecord& record) {
  return record.fields.size() == 2 && trimmed(record.fields[0].text) == "input" &&
         trimmed(record.fields[1].text) == "target";
}

ImagePair pair_in(const CsvRecord& record, const fs::path& csv) {
  CsvPosition place = record.fields.front().position;
  if (!record.problem.empty())
    fail(Category::data, "{}: {}", to_string(csv, record.problem_position), record.problem);
  if (record.fields.size() != 2)
    fail(Category::data, "{}: {} instead of two paths, {}", to_string(csv, place),
         counted(std::ssize(record.fields), "field"), header_of_pairs);
  ImagePair pair;
  for (auto [path, field] : {std::pair{&pair.input, size_t{0}}, {&pair.target, size_t{1}}}) {
    *path = csv.parent_path() / fs::path(trimmed(record.fields[field].text));
    std::error_code error;
    if (!fs::is_regular_file(*path, error))
      fail(Category::data, "{}: there is no file {}; paths are relative to the CSV file's folder",
           to_string(csv, record.fields[field].position), path->string());
  }
  return pair;
}

void require_pairs(const PairListing& part, const char* purpose, const fs::path& path) {
  if (part.pairs.empty())
    fail(Category::data,
         "{}: no pair is left for the {}; add pairs or change data.pairs.test_share", path.string(),
         purpose);
}

// Names that may mean parts: a CSV file's name without its ending.
std::string stem_of_list(const std::string& name) {
  for (std::string_view ending : {".csv", ".csv.gz"})
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  return "";
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::path& name : list_folder(folder, Category::data)) names.push_back(name.string());
  std::ranges::sort(names);
  return names;
}

using ListPairs = PairListing (*)(const fs::path& place);

PairSplits list_parts(const fs::path& folder, PartNames parts, ListPairs list) {
  if (parts.test.empty())
    fail(Category::data, "{}: has {}, but neither val nor test; add one for the test pairs",
         folder.string(), printable(parts.train));
  PairSplits splits{list(folder / parts.train), list(folder / parts.test)};
  if (!parts.val.empty()) {
    splits.val = list(folder / parts.val);
    require_pairs(splits.val, "validation", folder);
  }
  splits.notes = std::move(parts.notes);
  return splits;
}

// Keeps a share of the pairs for testing, the same ones in every run.
PairSplits split(const fs::path& path, PairListing all, double test_share) {
  PairSplits splits;
  if (test_share >= 1) {
    splits.test.pairs = all.pairs;
    splits.notes.push_back(all_test_note(path.string(), counted(std::ssize(all.pairs), "pair"),
                                         "data.pairs.test_share"));
    splits.train = std::move(all);
    return splits;
  }
  splits.train.notes = std::move(all.notes);
  for (size_t i = 0; i < all.pairs.size(); ++i) {
    bool test = is_test_row(static_cast<int64_t>(i), test_share);
    (test ? splits.test : splits.train).pairs.push_back(std::move(all.pairs[i]));
  }
  return splits;
}

PairSplits list_all(const fs::path& path, double test_share, const ValConfig& val) {
  if (!is_folder(path)) return split(path, list_pair_file(existing_input(path)), test_share);
  PartNames folders = choose_parts(path.string(), folders_in(path), val);
  if (!folders.train.empty()) {
    if (!folders.val.empty() && !is_folder(path / folders.test / "target"))
      folders.use_validation_as_test(path.string(), "it has no folder target");
    if (!folders.others.empty())
      folders.notes.push_back(
          fmt::format("{}: not read: {}", path.string(), quoted_list(folders.others)));
    return list_parts(path, std::move(folders), list_pair_folders);
  }
  PartNames lists = choose_parts(path.string(), files_in(path), val, stem_of_list);
  if (!lists.train.empty()) return list_parts(path, std::move(lists), list_pair_file);
  return split(path, list_pair_folders(path), test_share);
}

constexpr int64_t rgb_channels = 3;  // all images are decoded to RGB

struct PairScratch : ImageScratch {
  LabelImage mask;
};

// What every pair of a dataset has in common.
struct PairFormat {
  SampleSpec spec;
  bool resized = false;                  // by data.image.size; else all images have one size
  std::optional<MaskValues> masks = {};  // of masks; none: the targets are images
};

// One split. Each of the functions that read a file names it in its errors.
class ImagePairs : public Dataset {
 public:
  ImagePairs(std::vector<ImagePair> pairs, const PairFormat& format, const DataConfig& config,
             const AugmentConfig& augment, const ReadOptions& options)
      : pairs_(std::move(pairs)),
        format_(format),
        size_{format.spec.columns[0].shape[0], format.spec.columns[0].shape[1]},
        cropper_(size_, augment, options.seed, {.fit = config.image.fit}),
        inputs_(fitter(
            0, {format.spec.columns[0].shape, format.spec.normalization, options.image_dtype(),
                augment, options.seed, format.masks ? Outside::black : Outside::edges})),
        targets_(fitter(1, target_writer(geometric_part(augment), options))),
        corrupt_(count(), config),
        files_(2 * count()),
        scratch_(config.workers + 1, [] { return std::make_unique<PairScratch>(); }) {}

  const SampleSpec& spec() const override { return format_.spec; }
  int64_t count() const override { return std::ssize(pairs_); }
  int64_t skipped() const override { return corrupt_.skipped(); }
  std::vector<std::string> problems() const override { return corrupt_.problems(); }
  void set_held_out(const std::vector<bool>& held_out) override { corrupt_.set_held_out(held_out); }

  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override {
    auto scratch = scratch_.borrow();
    for (size_t row = 0; row < samples.size(); ++row)
      corrupt_.read_or_skip(samples[row], [&](int64_t sample) {
        std::array<std::byte*, 2> out{};
        for (size_t c : {0, 1}) out[c] = columns[c] + row * format_.spec.columns[c].row_bytes();
        write_pair(sample, epoch, *scratch, out);
      });
  }

  std::vector<fs::path> files() const override {
    std::vector<fs::path> paths;
    for (const ImagePair& pair : pairs_) paths.insert(paths.end(), {pair.input, pair.target});
    return paths;
  }

 private:
  // Both of a pair have one box: a function of their size, the epoch and the sample.
  ImageFitter fitter(size_t column, ImageWriter writer) const {
    return {format_.spec.columns[column].shape, cropper_, std::move(writer), !format_.resized};
  }
  ImageWriter target_writer(const AugmentConfig& augment, const ReadOptions& options) const {
    const Column& target = format_.spec.columns[1];
    if (format_.masks && options.as_stored)
      return {Shape{target.shape[0], target.shape[1], 1}, Normalization{{0.0}, {1.0}}, DType::u8,
              augment, options.seed};
    if (format_.masks) return {target.shape, *format_.masks, augment, options.seed};
    return {target.shape,  format_.spec.normalization, options.image_dtype(), augment, options.seed,
            Outside::edges};
  }

  void write_pair(int64_t sample, int64_t epoch, PairScratch& scratch,
                  std::span<std::byte* const> out) const {
    const ImagePair& pair = pairs_[static_cast<size_t>(sample)];
    ImageSize size;
    naming(sample, pair.input, [&] {
      files_.read(2 * sample, pair.input, scratch.file);
      size = image_size(scratch.file);
      if (!format_.resized) require_size(size);
      inputs_.write_file(scratch.file, size, epoch, sample, scratch, out[0]);
    });
    naming(sample, pair.target, [&] {
      files_.read(2 * sample + 1, pair.target, scratch.file);
      if (image_size(scratch.file) != size)
        fail(Category::data, "has another size than its input {}, which has {} x {} pixels",
             pair.input.string(), size.height, size.width);
      format_.masks ? write_mask(epoch, sample, scratch, out[1])
                    : targets_.write_file(scratch.file, size, epoch, sample, scratch, out[1]);
    });
  }

  // Adds the file to errors of decoding.
  template <typename Work>
  void naming(int64_t sample, const fs::path& path, const Work& work) const {
    try {
      work();
    } catch (const FileChanged&) {
      throw;
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      fail(Category::data, "{}: sample {}: {}", path.string(), sample, error.what());
    }
  }

  void write_mask(int64_t epoch, int64_t sample, PairScratch& scratch, std::byte* out) const {
    decode_labels(scratch.file, scratch.mask);
    const auto& [size, labels] = scratch.mask;
    format_.masks->check(labels, size.width);
    if (!format_.resized) return targets_.writer().write(labels.data(), epoch, sample, out);
    scratch.fitted.resize(static_cast<size_t>(size_.height * size_.width));
    cropper_.crop_labels(labels, size, cropper_.box(size, epoch, sample), scratch.fitted.data());
    targets_.writer().write(scratch.fitted.data(), epoch, sample, out);
  }

  void require_size(ImageSize size) const {
    if (size != size_)
      fail(Category::data,
           "has {} x {} pixels, but the first training image {} x {}; set data.image.size, to "
           "which all are then resized",
           size.height, size.width, size_.height, size_.width);
  }

  std::vector<ImagePair> pairs_;
  PairFormat format_;
  ImageSize size_;  // of what is written
  Cropper cropper_;
  ImageFitter inputs_, targets_;
  CorruptSamples corrupt_;
  ImageFiles files_;  // inputs have even numbers
  mutable ScratchPool<PairScratch> scratch_;
};

ImageSize size_for(const DataConfig& config, const ImagePair& first) {
  if (config.image.size > 0) return {config.image.size, config.image.size};
  std::vector<uint8_t> file;
  read_image_file(first.input, file);
  try {
    return image_size(file);
  } catch (const Error& error) {
    fail(Category::data, "{}: {}", first.input.string(), error.what());
  }
}

// Returns the number of classes in training masks. Masks that cannot be read count no classes:
// reading them as samples reports them, unless the others leave no classes to read.
int64_t count_classes(const std::vector<ImagePair>& pairs, int64_t ignore_label) {
  std::vector<uint8_t> file;
  LabelImage mask;
  int64_t classes = 1;
  std::string first_problem;
  for (const ImagePair& pair : pairs) {
    try {
      read_image_file(pair.target, file);
      decode_labels(file, mask);
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      if (first_problem.empty())
        first_problem = fmt::format("{}: {}", pair.target.string(), error.what());
      continue;
    }
    classes = count_mask_classes(mask.labels, ignore_label, classes);
  }
  if (classes < 2 && !first_problem.empty()) fail(Category::data, "{}", first_problem);
  return classes;
}

// Mean and deviation of the pixels of up to 1000 training inputs, evenly spread.
Normalization normalization_of(const std::vector<ImagePair>& pairs) {
  constexpr size_t most = 1000;
  PixelHistogram histogram(rgb_channels);
  std::vector<uint8_t> file;
  RgbImage image;
  size_t used = std::min(most, pairs.size());
  for (size_t i = 0; i < used; ++i) {
    const fs::path& path = pairs[i * pairs.size() / used].input;
    try {
      read_image_file(path, file);
      decode_image(file, 1, image);
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      continue;
    }
    histogram.add(image.pixels);
  }
  return histogram.normalization("training images");
}

PairFormat format_of(const std::vector<ImagePair>& train, const DataConfig& config,
                     const ReadOptions& options) {
  bool masks = config.pairs.target == PairsConfig::Target::mask;
  auto [height, width] = size_for(config, train.front());
  PairFormat format{.spec = {}, .resized = config.image.size > 0};
  SampleSpec& spec = format.spec;
  spec.columns = {{"images", {height, width, rgb_channels}, options.image_dtype()}};
  if (masks) {
    int64_t classes = options.trained_classes ? options.trained->classes : config.pairs.classes;
    if (classes == 0) classes = count_classes(train, config.pairs.ignore_label);
    spec.classes = classes;
    spec.columns.push_back({"masks", {height, width}, options.as_stored ? DType::u8 : DType::i32});
    format.masks.emplace(classes, config.pairs.ignore_label);
  } else {
    spec.columns.push_back({"target_images", {height, width, rgb_channels}, options.image_dtype()});
  }
  spec.normalization = configured_normalization(config, rgb_channels);
  if (spec.normalization.mean.empty()) spec.normalization = normalization_of(train);
  return format;
}

void check_augmentation(const DataConfig& config) {
  require_targets_follow(config.augment);
  if (config.image.fit == ImageConfig::Fit::pad)
    fail(Category::config,
         "data.image.fit: pad: the bars around an image have no target; use crop or squash");
  if (config.image.eval_size != 0 && config.image.eval_size != config.image.size)
    fail(Category::config,
         "data.image.eval_size: images of pairs have one size; use 0, and data.image.size");
  if (config.augment.random_resized_crop && config.image.size == 0)
    fail(Category::config,
         "data.augment.random_resized_crop: needs the size of the result; set data.image.size");
}

}  // namespace

PairListing list_pair_folders(const fs::path& folder) {
  fs::path inputs = folder / "input", targets = folder / "target";
  std::map<fs::path, fs::path> target_of = images_by_stem(targets);
  PairListing listing;
  for (const auto& [stem, name] : images_by_stem(inputs)) {
    auto target = target_of.extract(stem);
    if (target.empty())
      fail(Category::data,
           "{}: has no target: {} contains no image of that name; add it, or remove the input",
           (inputs / name).string(), targets.string());
    listing.pairs.push_back({inputs / name, targets / target.mapped()});
  }
  if (!target_of.empty())
    listing.notes.push_back(fmt::format("{}: {} without an input, such as {}, not used",
                                        targets.string(), counted(std::ssize(target_of), "image"),
                                        target_of.begin()->second.string()));
  return listing;
}

PairListing list_pair_file(const fs::path& csv) {
  CsvReader reader(csv, ',');
  PairListing listing;
  CsvRecord record;
  for (bool first = true; reader.next(record); first = false)
    if (!first || !is_header(record)) listing.pairs.push_back(pair_in(record, csv));
  return listing;
}

PairSplits list_pairs(const fs::path& path, double test_share, const ValConfig& val) {
  PairSplits splits = list_all(path, test_share, val);
  require_pairs(splits.train, "training", path);
  require_pairs(splits.test, "test", path);
  return splits;
}

DatasetPair open_image_pairs(const DataConfig& config, const ReadOptions& options) {
  check_augmentation(config);
  double test_share = options.all_test ? 1 : config.pairs.test_share;
  PairSplits splits = list_pairs(config.path, test_share, config.val);
  std::vector<std::string> notes = std::move(splits.notes);
  for (const PairListing* part : {&splits.train, &splits.test, &splits.val})
    notes.insert(notes.end(), part->notes.begin(), part->notes.end());
  PairFormat format = format_of(splits.train.pairs, config, options);
  auto dataset = [&](PairListing& part, const AugmentConfig& augment) {
    return std::make_unique<ImagePairs>(std::move(part.pairs), format, config, augment, options);
  };
  bool has_val = !splits.val.pairs.empty();
  return {dataset(splits.train, config.augment), dataset(splits.test, {}), std::move(notes),
          has_val ? dataset(splits.val, {}) : nullptr};
}

}  // namespace spire
