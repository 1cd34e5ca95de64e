#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <spire/error.h>

#include "engine/data/formats/idx.h"
#include "engine/data/images/augment.h"
#include "engine/data/images/image_dataset.h"
#include "engine/data/images/image_decode.h"
#include "engine/data/images/resized_crop.h"
#include "engine/inference/input_rows.h"

namespace spire::inline inference {
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

// Returns whether the file begins with two zero bytes: no image file does.
bool is_idx(const std::filesystem::path& path) {
  InputFile file(path);
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
class ImageRows : public InputRows {
 public:
  ImageRows(std::vector<ListedInput> files, const SampleSpec& spec, const DataConfig& config,
            InputReport report);

  std::vector<RowOrigin> read(int64_t max_rows, std::byte* rows) override;
  bool names_tell_truth() const override {
    return std::ranges::any_of(files_,
                               [&](const ListedInput& file) { return label_of(file).has_value(); });
  }

 private:
  std::optional<int64_t> label_of(const ListedInput& file) const;
  std::optional<RowOrigin> read_next(std::byte* row);
  std::optional<RowOrigin> read_idx(std::byte* row);
  void read_image(const std::filesystem::path& path, std::byte* row);
  void write(ImageSize image, int reduce, const Box& box, std::byte* row);
  bool is_whole(ImageSize image) const { return image == size_ && !always_crops_; }

  std::vector<ListedInput> files_;
  SampleSpec spec_;
  InputReport report_;
  bool always_crops_;
  ImageSize size_;
  int64_t channels_;
  Cropper cropper_;
  ImageWriter writer_;

  size_t next_ = 0;               // index in files_ of the next file
  std::optional<IdxImages> idx_;  // files_[next_ - 1], while it has images
  int64_t idx_row_ = 0;
  std::vector<uint8_t> file_, fitted_;
  RgbImage decoded_;  // (H, W, 3), after conversion (H, W, channels_)
  ResizeScratch resizing_;
};

ImageRows::ImageRows(std::vector<ListedInput> files, const SampleSpec& spec,
                     const DataConfig& config, InputReport report)
    : files_(std::move(files)),
      spec_(spec),
      report_(std::move(report)),
      always_crops_(resizes_files(config)),
      size_(size_of_image(spec)),
      channels_(spec.columns[0].shape[2]),
      cropper_(size_, {}, 0, framing_of(config)),
      writer_(spec.columns[0].shape, input_normalization(spec), spec.columns[0].dtype, {}, 0),
      fitted_(static_cast<size_t>(spec.columns[0].shape.elements())) {
  if (channels_ != 1 && channels_ != 3)
    fail(Category::config,
         "the model reads images of {} channels, but images have 1 or 3; give the images in "
         "another format, such as .npy",
         channels_);
}

std::vector<RowOrigin> ImageRows::read(int64_t max_rows, std::byte* rows) {
  std::vector<RowOrigin> origins;
  while (std::ssize(origins) < max_rows && (idx_ || next_ < files_.size()))
    if (auto origin = read_next(rows + origins.size() * writer_.image_bytes()))
      origins.push_back(std::move(*origin));
  return origins;
}

// Returns nothing where there was a problem, or where the next file was only opened.
std::optional<RowOrigin> ImageRows::read_next(std::byte* row) {
  if (idx_) return read_idx(row);
  const ListedInput& file = files_[next_++];
  bool is_row = false;
  try_reading(report_, [&] {
    if (is_idx(file.path)) {
      idx_.emplace(file.path);
      idx_row_ = 0;
    } else {
      read_image(file.path, row);
      is_row = true;
    }
  });
  if (!is_row) return {};
  return RowOrigin{.file = file, .row = 0, .only = true, .label = label_of(file)};
}

// A folder of a class, as in training data, says what its images are: also one that the user named,
// or that of a file.
std::optional<int64_t> ImageRows::label_of(const ListedInput& file) const {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(file.path, error);
  return class_named(spec_, path.lexically_normal().parent_path().filename().string());
}

// Reads the next image of an open IDX file; closes the file at its end or after a problem.
std::optional<RowOrigin> ImageRows::read_idx(std::byte* row) {
  ImageSize size = {idx_->height(), idx_->width()};
  bool is_row = false;
  bool good = try_reading(report_, [&] {
    decoded_.size = size;
    decoded_.pixels.resize(static_cast<size_t>(size.height * size.width));
    is_row = idx_->next(decoded_.pixels);
    if (!is_row) return;
    if (channels_ == 3) make_rgb(decoded_.pixels);
    write(size, 1, cropper_.box(size, 0, 0), row);
  });
  if (!good || !is_row) {
    idx_.reset();
    return {};
  }
  return RowOrigin{.file = files_[next_ - 1], .row = idx_row_++, .only = false};
}

void ImageRows::read_image(const std::filesystem::path& path, std::byte* row) {
  read_image_file(path, file_);
  try {
    ImageSize size = image_size(file_);
    Box box = cropper_.box(size, 0, 0);
    int reduce = is_jpeg(file_) && !is_whole(size) ? cropper_.reduction(box) : 1;
    decode_image(file_, reduce, decoded_);  // always RGB
    if (channels_ == 1) make_gray(decoded_.pixels);
    write(size, reduce, box, row);
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;
    fail(Category::data, "{}: {}", path.string(), error.what());
  }
}

// Writes decoded_, which is 1 / reduce of an image of that size.
void ImageRows::write(ImageSize image, int reduce, const Box& box, std::byte* row) {
  if (is_whole(image)) return writer_.write(decoded_.pixels.data(), 0, 0, row);
  cropper_.crop(decoded_.pixels, decoded_.size, channels_, box, reduce, fitted_.data(), resizing_);
  writer_.write(fitted_.data(), 0, 0, row);
}

}  // namespace

std::unique_ptr<InputRows> open_image_rows(std::vector<ListedInput> files, const SampleSpec& spec,
                                           const DataConfig& config, const InputReport& report) {
  return std::make_unique<ImageRows>(std::move(files), spec, config, report);
}

}  // namespace spire::inline inference
