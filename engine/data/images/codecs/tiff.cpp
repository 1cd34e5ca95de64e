// Decodes TIFF files by libtiff, from memory; of a file with several images, the first.
#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include <tiffio.h>

#include "engine/base/fail.h"
#include "engine/data/images/image_formats.h"

namespace spire {
namespace {

constexpr int64_t tiff_pixels_per_byte = 8 * 4096;  // bits that deflate, LZW or fax codes pack well
constexpr tmsize_t max_allocation = tmsize_t{1} << 30;

// The file's bytes as libtiff reads them, and its first message.
struct TiffInput {
  std::span<const uint8_t> file;
  uint64_t at = 0;
  std::string problem = {};
};

TiffInput& input_of(thandle_t handle) {
  return *static_cast<TiffInput*>(handle);
}

tmsize_t read_input(thandle_t handle, void* to, tmsize_t bytes) {
  TiffInput& input = input_of(handle);
  uint64_t begin = std::min<uint64_t>(input.at, input.file.size());
  uint64_t count = std::min<uint64_t>(static_cast<uint64_t>(bytes), input.file.size() - begin);
  std::memcpy(to, input.file.data() + begin, count);
  input.at = begin + count;
  return static_cast<tmsize_t>(count);
}

toff_t seek_input(thandle_t handle, toff_t offset, int from) {
  TiffInput& input = input_of(handle);
  input.at = from == SEEK_SET ? offset : (from == SEEK_CUR ? input.at : input.file.size()) + offset;
  return input.at;
}

int keep_problem(TIFF* /*tiff*/, void* user, const char* /*module*/, const char* format,
                 va_list arguments) {
  std::array<char, 256> text{};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  auto* input = static_cast<TiffInput*>(user);
  if (input->problem.empty()) input->problem = text.data();
  return 1;
}

int ignore_warning(TIFF* /*tiff*/, void* /*user*/, const char* /*module*/, const char* /*format*/,
                   va_list /*arguments*/) {
  return 1;
}

struct TiffDeleter {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

class TiffFile {
 public:
  explicit TiffFile(std::span<const uint8_t> file) : input_{.file = file} {
    std::unique_ptr<TIFFOpenOptions, TiffDeleter> options(TIFFOpenOptionsAlloc());
    TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), max_allocation);
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_problem, &input_);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore_warning, nullptr);
    tiff_.reset(TIFFClientOpenExt(
        "TIFF", "rm", &input_, read_input, [](thandle_t, void*, tmsize_t) { return tmsize_t{0}; },
        seek_input, [](thandle_t) { return 0; },
        [](thandle_t handle) -> toff_t { return input_of(handle).file.size(); }, nullptr, nullptr,
        options.get()));
    uint32_t width = 0, height = 0;
    if (!tiff_ || TIFFGetField(tiff_.get(), TIFFTAG_IMAGEWIDTH, &width) == 0 ||
        TIFFGetField(tiff_.get(), TIFFTAG_IMAGELENGTH, &height) == 0)
      refuse("the header is damaged");
    size_ = {height, width};
    check_image_size(size_, file.size(), tiff_pixels_per_byte);
  }

  ImageSize size() const { return size_; }

  // libtiff blends transparent pixels with black, and packs four bytes into numbers. It leaves rows
  // as they are stored where the orientation asked for is the file's.
  void decode(RgbImage& image) {
    std::array<char, 1024> why{};
    if (TIFFRGBAImageOK(tiff_.get(), why.data()) == 0) refuse(why.data());
    image.size = size_;
    image.pixels.resize(static_cast<size_t>(4 * size_.height * size_.width));
    auto* packed = reinterpret_cast<uint32_t*>(image.pixels.data());
    uint16_t orientation = ORIENTATION_TOPLEFT;
    TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_ORIENTATION, &orientation);
    if (TIFFReadRGBAImageOriented(tiff_.get(), static_cast<uint32_t>(size_.width),
                                  static_cast<uint32_t>(size_.height), packed, orientation, 1) == 0)
      refuse("the pixels are damaged");
    rgb_from_rgba(true, image);
  }

 private:
  [[noreturn]] void refuse(const char* otherwise) const {
    fail(Category::data, "TIFF: {}; get an intact copy, or convert the file to PNG",
         input_.problem.empty() ? otherwise : input_.problem);
  }

  TiffInput input_;
  ImageSize size_;
  std::unique_ptr<TIFF, TiffDeleter> tiff_;
};

}  // namespace

ImageSize tiff_size(std::span<const uint8_t> file) {
  return TiffFile(file).size();
}

void decode_tiff(std::span<const uint8_t> file, RgbImage& image) {
  TiffFile(file).decode(image);
}

}  // namespace spire
