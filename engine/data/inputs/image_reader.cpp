#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <spire/error.h>

#include "engine/base/read_file.h"
#include "engine/data/formats/idx.h"
#include "engine/data/images/augment.h"
#include "engine/data/images/image_dataset.h"
#include "engine/data/images/image_decode.h"
#include "engine/data/images/resized_crop.h"
#include "engine/data/inputs/file_reader.h"

namespace spire {
namespace {

// Converts RGB to gray in place by ITU-R BT.601 luma, 0.299 R + 0.587 G + 0.114 B. The weights are
// in units of 2^-16 and sum to one, so that gray colors keep their value.
void make_gray(std::vector<uint8_t>& pixels) {
  constexpr uint32_t red = 19595, green = 38470, blue = 7471, half = 1 << 15;
  for (size_t i = 0; i < pixels.size() / 3; ++i) {
    const uint8_t* rgb = pixels.data() + 3 * i;
    pixels[i] = static_cast<uint8_t>((red * rgb[0] + green * rgb[1] + blue * rgb[2] + half) >> 16);
  }
  pixels.resize(pixels.size() / 3);
}

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

ImageSize size_of_image(const SampleSpec& spec) {
  return {spec.columns[0].shape[0], spec.columns[0].shape[1]};
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
  void write(ImageSize image, int reduce, const Box& box, std::byte* row);
  bool is_whole(ImageSize image) const { return image == size_ && !always_crops_; }

  const SampleSpec& spec_;
  bool always_crops_;
  ImageSize size_;
  int64_t channels_;
  Cropper cropper_;
  ImageWriter writer_;

  std::filesystem::path path_;    // of the open file
  std::optional<IdxImages> idx_;  // the open file; none: it is an image
  int64_t row_ = 0;               // the next one
  bool ended_ = false;
  std::vector<uint8_t> file_, fitted_;
  RgbImage decoded_;  // (H, W, 3), after conversion (H, W, channels_)
  ResizeScratch resizing_;
};

ImageReader::ImageReader(const InputContext& context)
    : spec_(context.spec),
      always_crops_(resizes_files(context.config)),
      size_(size_of_image(spec_)),
      channels_(spec_.columns[0].shape[2]),
      cropper_(size_, {}, 0, framing_of(context.config)),
      writer_(spec_.columns[0].shape, input_normalization(spec_), spec_.columns[0].dtype, {}, 0),
      fitted_(static_cast<size_t>(spec_.columns[0].shape.elements())) {
  if (channels_ != 1 && channels_ != 3)
    fail(Category::config,
         "the model reads images of {} channels, but images have 1 or 3; give the images in "
         "another format, such as .npy",
         channels_);
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
  decoded_.size = size;
  decoded_.pixels.resize(static_cast<size_t>(size.height * size.width));
  if (!idx_->next(decoded_.pixels)) return false;
  if (channels_ == 3) make_rgb(decoded_.pixels);
  write(size, 1, cropper_.box(size, 0, 0), row);
  return true;
}

void ImageReader::read_image(std::byte* row) {
  read_image_file(path_, file_);
  try {
    ImageSize size = image_size(file_);
    Box box = cropper_.box(size, 0, 0);
    int reduce = is_jpeg(file_) && !is_whole(size) ? cropper_.reduction(box) : 1;
    decode_image(file_, reduce, decoded_);  // always RGB
    if (channels_ == 1) make_gray(decoded_.pixels);
    write(size, reduce, box, row);
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;
    fail(Category::data, "{}: {}", path_.string(), error.what());
  }
}

// Writes decoded_, which is 1 / reduce of an image of that size.
void ImageReader::write(ImageSize image, int reduce, const Box& box, std::byte* row) {
  if (is_whole(image)) return writer_.write(decoded_.pixels.data(), 0, 0, row);
  cropper_.crop(decoded_.pixels, decoded_.size, channels_, box, reduce, fitted_.data(), resizing_);
  writer_.write(fitted_.data(), 0, 0, row);
}

}  // namespace

std::unique_ptr<FileReader> image_reader(const InputContext& context) {
  return std::make_unique<ImageReader>(context);
}

}  // namespace spire
