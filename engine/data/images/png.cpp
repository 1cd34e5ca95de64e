#include "engine/data/images/png.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <csetjmp>
#include <cstring>
#include <new>
#include <string>

#include <png.h>

#include "engine/base/fail.h"
#include "engine/base/write_file.h"
#include "engine/data/images/image_formats.h"

namespace spire {
namespace {

constexpr uint8_t white = 255;
constexpr int64_t gap = 1;  // pixels between images of a grid

}  // namespace

std::string png_bytes(const PngImage& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string file(bytes, '\0');
  int done =
      png_image_write_to_memory(&header, file.data(), &bytes, 0, image.pixels.data(), 0, nullptr);
  if (done == 0) fail(Category::unexpected, "libpng: {}", header.message);
  file.resize(bytes);
  return file;
}

PngImage to_png_image(std::span<const float> values, const Shape& shape,
                      const Normalization& normalization) {
  require(shape.rank() == 3 && static_cast<int64_t>(values.size()) == shape.elements(),
          "to_png_image: {} numbers are not an image {}", values.size(), to_string(shape));
  PngImage image{shape[0], shape[1], shape[2] == 3 ? 3 : 1, {}};
  for (int64_t pixel = 0; pixel < shape[0] * shape[1]; ++pixel) {
    for (int64_t c = 0; c < image.channels; ++c) {
      auto channel = static_cast<size_t>(c);
      double value = double{values[static_cast<size_t>(pixel * shape[2] + c)]};
      if (!normalization.mean.empty())
        value = value * normalization.stddev[channel] + normalization.mean[channel];
      value = std::isnan(value) ? 0 : std::clamp(value, 0.0, 1.0);
      image.pixels.push_back(static_cast<uint8_t>(std::lround(255 * value)));
    }
  }
  return image;
}

PngImage grid_of(const std::vector<PngImage>& images, int64_t columns) {
  require(!images.empty() && columns >= 1, "a grid of no images");
  const PngImage& first = images.front();
  auto rows = (std::ssize(images) + columns - 1) / columns;
  columns = std::min<int64_t>(columns, std::ssize(images));
  PngImage grid{
      rows * (first.height + gap) - gap, columns * (first.width + gap) - gap, first.channels, {}};
  grid.pixels.assign(static_cast<size_t>(grid.height * grid.width * grid.channels), white);
  for (int64_t i = 0; i < std::ssize(images); ++i) {
    const PngImage& image = images[static_cast<size_t>(i)];
    require(image.height == first.height && image.width == first.width &&
                image.channels == first.channels,
            "a grid of images of several sizes");
    int64_t top = i / columns * (first.height + gap), left = i % columns * (first.width + gap);
    for (int64_t y = 0; y < image.height; ++y)
      std::copy_n(image.pixels.begin() + y * image.width * image.channels,
                  image.width * image.channels,
                  grid.pixels.begin() + ((top + y) * grid.width + left) * grid.channels);
  }
  return grid;
}

void write_png(const std::filesystem::path& path, const PngImage& image, Existing existing) {
  write_file_atomically(path, png_bytes(image), Category::data, existing);
}

// Decodes PNG files by libpng: the numbers that are stored, as viewers show them. What gAMA, sRGB
// and iCCP say of their brightness changes none.
//
// libpng reports errors by a function that must not return. It jumps back with longjmp, so no
// function with a setjmp has a local variable with a destructor.

namespace {

constexpr int64_t png_pixels_per_byte =
    1032 * 8;  // deflate expands up to 1032 times; 1 bit a pixel

// The file's bytes as libpng reads them, and its error.
struct PngInput {
  std::span<const uint8_t> file;
  size_t at = 0;
  std::array<char, 128> problem = {};
};

[[noreturn]] void keep_png_error(png_structp png, png_const_charp text) {
  auto& problem = static_cast<PngInput*>(png_get_error_ptr(png))->problem;
  std::strncpy(problem.data(), text, problem.size() - 1);
  png_longjmp(png, 1);
}

void ignore_png_warning(png_structp /*png*/, png_const_charp /*text*/) {}

void read_png_input(png_structp png, png_bytep out, size_t count) {
  auto* input = static_cast<PngInput*>(png_get_io_ptr(png));
  if (count > input->file.size() - input->at) png_error(png, "the file is cut off");
  std::memcpy(out, input->file.data() + input->at, count);
  input->at += count;
}

// Owns libpng's memory, so that it is freed even where the constructor of PngFile throws.
struct PngReader {
  explicit PngReader(PngInput& input)
      : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &input, keep_png_error,
                                   ignore_png_warning)),
        info(png == nullptr ? nullptr : png_create_info_struct(png)) {}
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  png_structp png;
  png_infop info;
};

// One file under decoding. Each step that calls libpng has its own setjmp, which returns false
// after an error; check() turns that into an exception.
class PngFile {
 public:
  explicit PngFile(std::span<const uint8_t> file) : input_{.file = file}, reader_(input_) {
    if (reader_.info == nullptr) throw std::bad_alloc();
    check(read_header());
    check_image_size(size(), file.size(), png_pixels_per_byte);
  }

  ImageSize size() const {
    return {png_get_image_height(reader_.png, reader_.info),
            png_get_image_width(reader_.png, reader_.info)};
  }

  void decode(RgbImage& image) {
    check(prepare_colors());
    image.size = size();
    image.pixels.resize(row_bytes() * static_cast<size_t>(image.size.height));
    check(read_rows(image.pixels.data()));
    if (png_get_channels(reader_.png, reader_.info) == 4) rgb_from_rgba(false, image);
  }

  void decode_labels(LabelImage& image) {
    require_labels();
    check(prepare_labels());
    image.size = size();
    image.labels.resize(row_bytes() * static_cast<size_t>(image.size.height));
    check(read_rows(image.labels.data()));
  }

 private:
  void check(bool good) const {
    if (!good) fail(Category::data, "PNG: {}; get an intact copy", input_.problem.data());
  }
  size_t row_bytes() const { return png_get_rowbytes(reader_.png, reader_.info); }

  bool read_header() {
    if (setjmp(png_jmpbuf(reader_.png)) != 0) return false;
    png_set_read_fn(reader_.png, &input_, read_png_input);
    png_read_info(reader_.png, reader_.info);
    return true;
  }
  // (H, W, 3), or with transparency (H, W, 4); 16 bits become value / 257.
  bool prepare_colors() {
    if (setjmp(png_jmpbuf(reader_.png)) != 0) return false;
    png_set_expand(reader_.png);
    png_set_scale_16(reader_.png);
    png_set_gray_to_rgb(reader_.png);
    png_set_interlace_handling(reader_.png);
    png_read_update_info(reader_.png, reader_.info);
    return true;
  }
  // (H, W): a byte for each number.
  bool prepare_labels() {
    if (setjmp(png_jmpbuf(reader_.png)) != 0) return false;
    png_set_packing(reader_.png);
    png_set_interlace_handling(reader_.png);
    png_read_update_info(reader_.png, reader_.info);
    return true;
  }
  bool read_rows(uint8_t* to) {
    if (setjmp(png_jmpbuf(reader_.png)) != 0) return false;
    int passes = png_get_interlace_type(reader_.png, reader_.info) == PNG_INTERLACE_NONE
                     ? 1
                     : PNG_INTERLACE_ADAM7_PASSES;
    png_uint_32 height = png_get_image_height(reader_.png, reader_.info);
    for (int pass = 0; pass < passes; ++pass)
      for (png_uint_32 y = 0; y < height; ++y)
        png_read_row(reader_.png, to + y * png_get_rowbytes(reader_.png, reader_.info), nullptr);
    return true;
  }

  void require_labels() const {
    int kind = png_get_color_type(reader_.png, reader_.info);
    if (kind == PNG_COLOR_TYPE_PALETTE) return;
    const char* found = nullptr;
    if ((kind & PNG_COLOR_MASK_COLOR) != 0)
      found = "colors: give each color the number of its class, in one channel";
    else if (png_get_bit_depth(reader_.png, reader_.info) == 16)
      found = "16 bits: write its numbers, 0 to 254, with 8";
    else if ((kind & PNG_COLOR_MASK_ALPHA) != 0 ||
             png_get_valid(reader_.png, reader_.info, PNG_INFO_tRNS) != 0)
      found = "transparent pixels: write it without an alpha channel";
    if (found != nullptr)
      fail(Category::data,
           "PNG: a mask has gray or palette pixels of at most 8 bits, whose numbers are classes; "
           "this one has {}",
           found);
  }

  PngInput input_;
  PngReader reader_;  // points to input_
};

}  // namespace

ImageSize png_size(std::span<const uint8_t> file) {
  return PngFile(file).size();
}

void decode_png(std::span<const uint8_t> file, RgbImage& image) {
  PngFile(file).decode(image);
}

void decode_png_labels(std::span<const uint8_t> file, LabelImage& image) {
  PngFile(file).decode_labels(image);
}

}  // namespace spire
