// Decodes BMP files: a file header of 14 bytes, an information header of 40 or more, a palette,
// then rows of pixels, each padded to a multiple of 4 bytes, the lowest row first. Pixels have 1,
// 4, 8, 24 or 32 bits; the files of other kinds (16 bits, run lengths, OS/2) are refused.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

#include "engine/base/fail.h"
#include "engine/data/images/image_formats.h"

namespace spire {
namespace {

constexpr size_t file_header = 14, info_header = 40;
constexpr int64_t bmp_pixels_per_byte = 8;  // 1 bit a pixel

[[noreturn]] void fail_bmp(const char* problem) {
  fail(Category::data, "BMP: {}; get an intact copy, or convert the file to PNG", problem);
}

// The file's bytes, which are numbers with the lowest byte first.
class BmpFile {
 public:
  explicit BmpFile(std::span<const uint8_t> file) : file_(file) {
    if (file.size() < file_header + info_header) fail_bmp("the header is cut off");
    header_bytes_ = number(file_header);
    auto height = static_cast<int32_t>(number(22)), width = static_cast<int32_t>(number(18));
    bits_ = number(28) & 0xffff;
    compression_ = number(30);
    pixels_at_ = number(10);
    colors_ = number(46);
    if (header_bytes_ < info_header || header_bytes_ > 1024) fail_bmp("an unknown header");
    if (height == INT32_MIN) fail_bmp("an impossible height");
    from_top_ = height < 0;
    size_ = {std::abs(height), width};
    check_image_size(size_, file.size(), bmp_pixels_per_byte);
  }

  ImageSize size() const { return size_; }

  void decode(RgbImage& image) {
    read_layout();
    auto row_bytes = (static_cast<size_t>(size_.width) * bits_ + 31) / 32 * 4;
    auto rows = static_cast<size_t>(size_.height);
    if (pixels_at_ > file_.size() || (file_.size() - pixels_at_) / row_bytes < rows)
      fail_bmp("the pixels are cut off");
    image.size = size_;
    image.pixels.resize(channels_ * static_cast<size_t>(size_.height * size_.width));
    for (size_t y = 0; y < rows; ++y) {
      const uint8_t* row = file_.data() + pixels_at_ + (from_top_ ? y : rows - 1 - y) * row_bytes;
      uint8_t* out = image.pixels.data() + channels_ * y * static_cast<size_t>(size_.width);
      bits_ <= 8 ? write_palette_row(row, out) : write_color_row(row, out);
    }
    if (channels_ == 4) blend(image);
  }

 private:
  uint32_t number(size_t at) const {
    if (at + 4 > file_.size()) fail_bmp("the header is cut off");
    return uint32_t{file_[at]} | uint32_t{file_[at + 1]} << 8 | uint32_t{file_[at + 2]} << 16 |
           uint32_t{file_[at + 3]} << 24;
  }

  // Reads what depends on the kind of pixels: the palette, or the place of colors within 32 bits.
  void read_layout() {
    constexpr uint32_t plain = 0, masks = 3, masks_with_alpha = 6;
    bool masked = compression_ == masks || compression_ == masks_with_alpha;
    if (compression_ != plain && !(masked && bits_ == 32))
      fail_bmp("its compression is not supported");
    if (bits_ == 1 || bits_ == 4 || bits_ == 8) return read_palette();
    if (bits_ != 24 && bits_ != 32) fail_bmp("only 1, 4, 8, 24 or 32 bits a pixel are supported");
    if (!masked) return;
    constexpr uint32_t header_with_alpha = 56;
    bool may_be_clear = header_bytes_ >= header_with_alpha || compression_ == masks_with_alpha;
    if (may_be_clear && number(file_header + info_header + 12) != 0) channels_ = 4;
    for (size_t c = 0; c < channels_; ++c) {
      uint32_t mask = number(file_header + info_header + 4 * c);
      auto shift = static_cast<unsigned>(mask == 0 ? 1 : std::countr_zero(mask));
      if (shift % 8 != 0 || mask >> shift != 255) fail_bmp("colors that are no whole bytes");
      offset_[c] = shift / 8;
    }
  }
  void read_palette() {
    uint32_t count = colors_ == 0 ? 1u << bits_ : colors_;
    if (count > 256) fail_bmp("a palette of more than 256 colors");
    for (size_t i = 0; i < count; ++i) {
      uint32_t color = number(file_header + header_bytes_ + 4 * i);
      palette_[i] = {static_cast<uint8_t>(color >> 16), static_cast<uint8_t>(color >> 8),
                     static_cast<uint8_t>(color)};
    }
  }
  void write_palette_row(const uint8_t* row, uint8_t* out) const {
    for (size_t x = 0; x < static_cast<size_t>(size_.width); ++x, out += 3) {
      size_t bit = x * bits_;  // the first pixel is in the highest bits of a byte
      unsigned index = row[bit / 8] >> (8 - bits_ - bit % 8) & ((1u << bits_) - 1);
      std::ranges::copy(palette_[index], out);
    }
  }
  void write_color_row(const uint8_t* row, uint8_t* out) const {
    for (int64_t x = 0; x < size_.width; ++x, row += bits_ / 8, out += channels_)
      for (size_t c = 0; c < channels_; ++c) out[c] = row[offset_[c]];
  }
  // Some programs leave all alpha 0 and mean no transparency.
  static void blend(RgbImage& image) {
    bool clear = true;
    for (size_t i = 3; i < image.pixels.size(); i += 4) clear = clear && image.pixels[i] == 0;
    rgb_from_rgba(clear, image);
  }

  std::span<const uint8_t> file_;
  ImageSize size_;
  bool from_top_ = false;
  uint32_t header_bytes_ = 0, bits_ = 0, compression_ = 0, pixels_at_ = 0, colors_ = 0;
  std::array<std::array<uint8_t, 3>, 256> palette_{};
  size_t channels_ = 3;                          // 4 with transparency
  std::array<size_t, 4> offset_ = {2, 1, 0, 3};  // of red, green, blue, alpha within a pixel
};

}  // namespace

ImageSize bmp_size(std::span<const uint8_t> file) {
  return BmpFile(file).size();
}

void decode_bmp(std::span<const uint8_t> file, RgbImage& image) {
  BmpFile(file).decode(image);
}

}  // namespace spire
