// Decodes PNG files by libpng: the numbers that are stored, as viewers show them. What gAMA, sRGB
// and iCCP say of their brightness changes none.
//
// libpng reports errors by a function that must not return. It jumps back with longjmp, so no
// function with a setjmp has a local variable with a destructor.
#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <new>

#include <png.h>

#include <spire/error.h>

#include "engine/data/images/image_decode.h"

namespace spire {
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
