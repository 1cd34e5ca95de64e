#include "engine/inference/image_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include <spire/error.h>

#include "engine/data/images/image_decode.h"

namespace spire::inline inference {
namespace {

// 0.299 R + 0.587 G + 0.114 B in units of 2^-16, which sum to one: gray stays what it is.
void make_gray(std::vector<uint8_t>& pixels) {
  constexpr uint32_t red = 19595, green = 38470, blue = 7471, half = 1 << 15;
  for (size_t i = 0; i < pixels.size() / 3; ++i) {
    const uint8_t* rgb = pixels.data() + 3 * i;
    pixels[i] = static_cast<uint8_t>((red * rgb[0] + green * rgb[1] + blue * rgb[2] + half) >> 16);
  }
  pixels.resize(pixels.size() / 3);
}

void make_colored(std::vector<uint8_t>& pixels) {
  size_t count = pixels.size();
  pixels.resize(3 * count);
  for (size_t i = count; i-- > 0;)
    std::fill_n(pixels.begin() + 3 * static_cast<int64_t>(i), 3, pixels[i]);
}

// Two zero bytes, with which neither JPEG nor PNG begins.
bool is_idx(const std::filesystem::path& path) {
  InputFile file(path);
  std::array<uint8_t, 4> magic{};
  return file.read(magic) == magic.size() && magic[0] == 0 && magic[1] == 0;
}

ImageSize size_of_image(const SampleSpec& spec) {
  return {spec.columns[0].shape[0], spec.columns[0].shape[1]};
}

// Numbers as they are: pixel / 255.
Normalization normalization_of(const SampleSpec& spec) {
  if (!spec.normalization.mean.empty()) return spec.normalization;
  auto channels = static_cast<size_t>(spec.columns[0].shape[2]);
  return {std::vector(channels, 0.0), std::vector(channels, 1.0)};
}

}  // namespace

ImageRows::ImageRows(std::vector<ListedInput> files, const SampleSpec& spec,
                     const DataConfig& config, InputReport report)
    : files_(std::move(files)),
      report_(std::move(report)),
      always_crops_(config.name == "image_folder"),
      size_(size_of_image(spec)),
      channels_(spec.columns[0].shape[2]),
      cropper_(size_, {}, 0),
      writer_(spec.columns[0].shape, normalization_of(spec), spec.columns[0].dtype, {}, 0),
      fitted_(static_cast<size_t>(spec.columns[0].shape.elements())) {
  if (channels_ != 1 && channels_ != 3)
    fail(Category::config,
         "the model reads images of {} channels, but images have 1 or 3; give the images in "
         "another format, such as IDX",
         channels_);
}

std::vector<RowOrigin> ImageRows::read(int64_t most, std::byte* rows) {
  std::vector<RowOrigin> origins;
  while (std::ssize(origins) < most && (idx_ || next_ < files_.size()))
    if (auto origin = read_next(rows + origins.size() * writer_.image_bytes()))
      origins.push_back(std::move(*origin));
  return origins;
}

// Nothing where there was a problem, or the next file has only been opened.
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
  return RowOrigin{.file = file, .row = 0, .only = true};
}

std::optional<RowOrigin> ImageRows::read_idx(std::byte* row) {
  ImageSize size = {idx_->height(), idx_->width()};
  bool is_row = false;
  bool good = try_reading(report_, [&] {
    decoded_.size = size;
    decoded_.pixels.resize(static_cast<size_t>(size.height * size.width));
    is_row = idx_->next(decoded_.pixels);
    if (!is_row) return;
    if (channels_ == 3) make_colored(decoded_.pixels);
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
    decode_image(file_, reduce, decoded_);
    if (channels_ == 1) make_gray(decoded_.pixels);
    write(size, reduce, box, row);
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;
    fail(Category::data, "{}: {}", path.string(), error.what());
  }
}

// The image's size is that of the whole, decoded_ is 1 / reduce of it.
void ImageRows::write(ImageSize image, int reduce, const Box& box, std::byte* row) {
  if (is_whole(image)) return writer_.write(decoded_.pixels.data(), 0, 0, row);
  cropper_.crop(decoded_.pixels, decoded_.size, channels_, box, reduce, fitted_.data(), resizing_);
  writer_.write(fitted_.data(), 0, 0, row);
}

}  // namespace spire::inline inference
