#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/data/formats/labelled_files.h"
#include "engine/data/images/augment.h"
#include "engine/data/images/image_dataset.h"
#include "engine/data/images/image_formats.h"
#include "engine/data/inputs/file_reader.h"

namespace spire {
namespace {

// Repeats each gray value three times, in place: from the back, so that none is overwritten early.
void make_rgb(std::vector<uint8_t>& pixels) {
  size_t count = pixels.size();
  pixels.resize(3 * count);
  for (size_t i = count; i-- > 0;)
    std::fill_n(pixels.begin() + 3 * static_cast<int64_t>(i), 3, pixels[i]);
}

// Returns whether the file, unpacked if it is gzip, begins with two zero bytes: no image file does.
bool is_idx(const std::filesystem::path& path) {
  if (begins_with(path, std::string_view("\0\0", 2))) return true;
  if (!begins_with(path, "\x1f\x8b")) return false;
  InputFile file(path);  // unpacks it
  std::array<uint8_t, 4> magic{};
  return file.read(magic) == magic.size() && magic[0] == 0 && magic[1] == 0;
}

// Returns whether the run's dataset reads files of images, and resizes all of them.
bool resizes_files(const DataConfig& config) {
  return config.name == "image_folder" || config.name == "webdataset" ||
         (config.name == "image_pairs" && config.image.size > 0);
}

// Datasets of stored images take all of an image that they resize, and not a photo's middle.
Framing framing_of(const DataConfig& config) {
  bool resized = config.image.size > 0 || config.image.eval_size > 0;
  Framing framing = {.fit = config.image.fit};
  if (resized && !resizes_files(config)) framing.share = 1;
  return framing;
}

// Images become what the test split of the run's data would make of them. For folders, shards and
// pairs of image files that is data.image.fit: by default the middle crop, resized. Datasets of
// stored images take all of it where data.image.size or eval_size is given. Others take images as
// stored: an image of the model's size is taken whole, others are cropped and resized as in an
// image folder. Colors become gray by their luma, gray becomes three equal channels.
class ImageReader : public FileReader {
 public:
  explicit ImageReader(const InputContext& context);

  void open(const std::filesystem::path& path) override {
    path_ = path;
    idx_.reset();
    if (is_idx(path)) idx_.emplace(path);
    row_ = 0;
    ended_ = false;
  }
  std::optional<RowOrigin> next(std::byte* row) override;
  bool name_tells_truth(const std::filesystem::path& path) const override {
    return label_of(path).has_value();
  }

 private:
  std::optional<int64_t> label_of(const std::filesystem::path& path) const;
  bool read_idx(std::byte* row);
  void read_image(std::byte* row);

  const SampleSpec& spec_;
  const Shape& shape_;  // (H, W, C) of the model's images
  ImageFitter fitter_;

  std::filesystem::path path_;    // of the open file
  std::optional<IdxImages> idx_;  // the open file; none: it is an image
  int64_t row_ = 0;               // the next one
  bool ended_ = false;
  ImageScratch scratch_;
};

ImageReader::ImageReader(const InputContext& context)
    : spec_(context.spec),
      shape_(spec_.columns[0].shape),
      fitter_(shape_, Cropper({shape_[0], shape_[1]}, {}, 0, framing_of(context.config)),
              ImageWriter(shape_, input_normalization(spec_), spec_.columns[0].dtype, {}, 0),
              !resizes_files(context.config)) {
  if (shape_[2] != 1 && shape_[2] != 3)
    fail(Category::config,
         "the model reads images of {} channels, but images have 1 or 3; give the images in "
         "another format, such as .npy",
         shape_[2]);
}

std::optional<RowOrigin> ImageReader::next(std::byte* row) {
  if (std::exchange(ended_, true)) return {};  // unless the row is good, and there may be another
  if (!idx_) {
    read_image(row);
    return RowOrigin{.file = {}, .row = 0, .only = true, .label = label_of(path_)};
  }
  if (!read_idx(row)) return {};
  ended_ = false;
  return RowOrigin{.file = {}, .row = row_++, .only = false};
}

// A folder of a class, as in training data, says what its images are: also one that the user named,
// or that of a file.
std::optional<int64_t> ImageReader::label_of(const std::filesystem::path& file) const {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(file, error);
  return class_named(spec_, path.lexically_normal().parent_path().filename().string());
}

// Reads the next image of an IDX file; returns false at its end.
bool ImageReader::read_idx(std::byte* row) {
  ImageSize size = {idx_->height(), idx_->width()};
  std::vector<uint8_t>& pixels = scratch_.decoded.pixels;
  pixels.resize(static_cast<size_t>(size.height * size.width));
  if (!idx_->next(pixels)) return false;
  if (shape_[2] == 3) make_rgb(pixels);
  fitter_.write_pixels(pixels, size, 0, 0, scratch_, row);
  return true;
}

void ImageReader::read_image(std::byte* row) {
  read_image_file(path_, scratch_.file);
  try {
    fitter_.write_file(scratch_.file, image_size(scratch_.file), 0, 0, scratch_, row);
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;
    fail(Category::data, "{}: {}", path_.string(), error.what());
  }
}

}  // namespace

std::unique_ptr<FileReader> image_reader(const InputContext& context) {
  return std::make_unique<ImageReader>(context);
}

}  // namespace spire
