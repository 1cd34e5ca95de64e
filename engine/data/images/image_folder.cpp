#include "engine/data/images/image_folder.h"

#include <algorithm>
#include <utility>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/data/images/augment.h"
#include "engine/data/images/image_dataset.h"
#include "engine/data/images/image_decode.h"
#include "engine/data/images/image_files.h"
#include "engine/data/images/resized_crop.h"
#include "engine/data/sample_reading.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t channels = 3;  // all images are decoded to RGB
constexpr int64_t default_size = 224;

// Mean and deviation of ImageNet's training images; published models expect them, too.
const Normalization imagenet = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};

// Working memory of one reader thread; it grows to the needs of the largest image.
struct ImageScratch {
  std::vector<uint8_t> file, cropped;
  RgbImage decoded;
  ResizeScratch resizing;
};

// One split of an image folder. Columns: images (size, size, 3), labels ().
class ImageFolder : public Dataset {
 public:
  ImageFolder(ImageListing listing, const SampleSpec& spec, const DataConfig& config,
              const AugmentConfig& augment, const ReadOptions& options)
      : listing_(std::move(listing)),
        spec_(spec),
        cropper_({spec.columns[0].shape[0], spec.columns[0].shape[1]}, augment, options.seed),
        writer_(spec.columns[0].shape, spec.normalization, options.image_dtype(), augment,
                options.seed),
        corrupt_(count(), config),
        files_(count()),
        scratch_(config.workers + 1, [] { return std::make_unique<ImageScratch>(); }) {}

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return std::ssize(listing_.files); }
  int64_t skipped() const override { return corrupt_.skipped(); }
  std::vector<std::string> problems() const override { return corrupt_.problems(); }

  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override {
    auto scratch = scratch_.borrow();
    auto* labels = reinterpret_cast<int32_t*>(columns[1]);
    for (size_t row = 0; row < samples.size(); ++row)
      corrupt_.read_or_skip(samples[row], [&](int64_t sample) {
        write_image(sample, epoch, *scratch, columns[0] + row * writer_.image_bytes());
        labels[row] = listing_.files[static_cast<size_t>(sample)].label;
      });
  }

  void read_labels(int64_t first, std::span<int32_t> out) const override {
    for (int32_t& label : out) label = listing_.files[static_cast<size_t>(first++)].label;
  }
  std::vector<fs::path> files() const override {
    std::vector<fs::path> paths;
    for (int64_t i = 0; i < count(); ++i) paths.push_back(listing_.path(i));
    return paths;
  }

 private:
  // Decodes, crops and normalizes one image. A JPEG is decoded at the smallest scale that keeps
  // enough pixels.
  void write_image(int64_t sample, int64_t epoch, ImageScratch& scratch, std::byte* out) const {
    files_.read(sample, listing_.path(sample), scratch.file);
    try {
      Box box = cropper_.box(image_size(scratch.file), epoch, sample);
      int reduce = reduction_of(scratch.file, box);
      decode_image(scratch.file, reduce, scratch.decoded);
      scratch.cropped.resize(static_cast<size_t>(spec_.columns[0].shape.elements()));
      cropper_.crop(scratch.decoded.pixels, scratch.decoded.size, channels, box, reduce,
                    scratch.cropped.data(), scratch.resizing);
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      fail(Category::data, "{}: sample {}: {}", listing_.path(sample).string(), sample,
           error.what());
    }
    writer_.write(scratch.cropped.data(), epoch, sample, out);
  }
  int reduction_of(std::span<const uint8_t> file, const Box& box) const {
    return is_jpeg(file) ? cropper_.reduction(box) : 1;
  }

  ImageListing listing_;
  SampleSpec spec_;
  Cropper cropper_;
  ImageWriter writer_;
  CorruptSamples corrupt_;
  ImageFiles files_;
  mutable ScratchPool<ImageScratch> scratch_;
};

// Returns the classes without a training image.
std::vector<std::string> classes_without(const ImageListing& listing,
                                         const std::vector<std::string>& classes) {
  std::vector<bool> seen(classes.size());
  for (const ImageListing::File& file : listing.files) seen[static_cast<size_t>(file.label)] = true;
  std::vector<std::string> without;
  for (size_t label = 0; label < classes.size(); ++label)
    if (!seen[label]) without.push_back(classes[label]);
  return without;
}

// Returns folders within class folders; their images are not read.
std::vector<std::string> deeper_folders(const fs::path& folder,
                                        const std::vector<std::string>& classes) {
  std::vector<std::string> deeper;
  for (const std::string& name : classes) {
    std::error_code error;  // list_images() has reported folders that cannot be read
    for (auto at = fs::directory_iterator(folder / name, error); !error && at != fs::end(at);
         at.increment(error))
      if (at->is_directory(error) && !at->path().filename().string().starts_with('.'))
        deeper.push_back(name + "/" + at->path().filename().string());
  }
  std::ranges::sort(deeper);
  return deeper;
}

// Returns notes for the user about folders that look like mistakes.
std::vector<std::string> unused_notes(const ImageListing& train, const ImageListing& test,
                                      const std::vector<std::string>& classes) {
  std::vector<std::string> notes;
  std::vector<std::string> without = classes_without(train, classes);
  if (!without.empty())
    notes.push_back(
        fmt::format("{}: no images of {}, which count as classes nevertheless; remove "
                    "their folders if they are none",
                    train.folder.string(), quoted_list(without)));
  for (const ImageListing* split : {&train, &test})
    if (auto deeper = deeper_folders(split->folder, classes); !deeper.empty())
      notes.push_back(
          fmt::format("{}: not read, as images lie right in the folder of their "
                      "class: {}",
                      split->folder.string(), quoted_list(deeper)));
  return notes;
}

fs::path test_folder(const fs::path& folder) {
  for (const char* name : {"val", "test"})
    if (fs::is_directory(folder / name)) return folder / name;
  fail(Category::data,
       "{}: has neither a folder val nor a folder test; put the test images into one of them",
       folder.string());
}

}  // namespace

DatasetPair open_image_folder(const DataConfig& config, const ReadOptions& options) {
  if (config.path == "auto")
    fail(Category::config,
         "data.path: auto does not work for data.name: image_folder; set data.path to the folder "
         "of train and val");
  fs::path folder = config.path;
  int64_t size = config.image.size == 0 ? default_size : config.image.size;
  SampleSpec spec;
  spec.columns = {{"images", {size, size, channels}, options.image_dtype()},
                  {"labels", {}, DType::i32}};
  spec.class_names = class_folders(folder / "train");
  spec.classes = std::ssize(spec.class_names);
  spec.normalization = configured_normalization(config, channels);
  if (spec.normalization.mean.empty()) spec.normalization = imagenet;
  ImageListing train = list_images(folder / "train", spec.class_names);
  ImageListing test = list_images(test_folder(folder), spec.class_names);
  std::vector<std::string> notes = unused_notes(train, test, spec.class_names);
  return {std::make_unique<ImageFolder>(std::move(train), spec, config, config.augment, options),
          std::make_unique<ImageFolder>(std::move(test), spec, config, AugmentConfig{}, options),
          std::move(notes)};
}

}  // namespace spire::inline data
