// Decodes JPEG files by libjpeg.
//
// libjpeg reports errors by a function that must not return. It jumps back with longjmp, so no
// function with a setjmp has a local variable with a destructor.
#include <csetjmp>
#include <cstddef>
#include <cstdio>

// jerror.h needs jpeglib.h, which needs the two above.
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "engine/base/fail.h"
#include "engine/data/images/image_formats.h"

namespace spire {
namespace {

constexpr int64_t jpeg_pixels_per_byte = 4096;  // far more than real images reach
constexpr int max_scans = 200;  // of a progressive image; a damaged file may announce millions

struct ErrorManager {
  jpeg_error_mgr base;
  jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void jump_out(j_common_ptr info) {
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  info->err->format_message(info, manager->message);
  std::longjmp(manager->jump, 1);
}

// Returns true if libjpeg continues after this warning with made-up pixels.
bool loses_pixels(int code) {
  return code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_JPEG_EOF ||
         code == JWRN_ARITH_BAD_CODE || code == JWRN_MUST_RESYNC || code == JWRN_NOT_SEQUENTIAL;
}

// Turns such warnings into errors. Level -1 is a warning, others are trace messages.
void on_message(j_common_ptr info, int level) {
  if (level < 0 && loses_pixels(info->err->msg_code)) jump_out(info);
}

// Owns libjpeg's memory, so that it is freed even where the constructor of Jpeg throws.
struct Decompressor : jpeg_decompress_struct {
  Decompressor() : jpeg_decompress_struct{} {}
  ~Decompressor() {
    if (mem) jpeg_destroy_decompress(this);  // it was created
  }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
};

// One file under decoding. Each step that calls libjpeg has its own setjmp,
// which returns false after an error; check() turns that into an exception.
class Jpeg {
 public:
  explicit Jpeg(std::span<const uint8_t> file) {
    info_.err = jpeg_std_error(&error_.base);
    error_.base.error_exit = jump_out;
    error_.base.emit_message = on_message;
    check(read_header(file.data(), file.size()));
    check_image_size({info_.image_height, info_.image_width}, file.size(), jpeg_pixels_per_byte);
  }

  ImageSize size() const { return {info_.image_height, info_.image_width}; }

  void decode(int reduce, RgbImage& image) {
    check(prepare(static_cast<unsigned>(reduce)));
    image.size = {info_.output_height, info_.output_width};
    image.pixels.resize(static_cast<size_t>(image.size.height * image.size.width) *
                        static_cast<size_t>(info_.out_color_components));
    check(read_rows(image.pixels.data()));
  }
  bool is_cmyk() const { return info_.out_color_space == JCS_CMYK; }

 private:
  void check(bool good) const {
    if (!good) fail(Category::data, "JPEG: {}; get an intact copy", error_.message);
  }

  bool read_header(const uint8_t* data, size_t bytes) {
    if (setjmp(error_.jump) != 0) return false;
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, data, static_cast<unsigned long>(bytes));
    jpeg_read_header(&info_, TRUE);
    return true;
  }
  bool prepare(unsigned reduce) {
    if (setjmp(error_.jump) != 0) return false;
    bool four = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = four ? JCS_CMYK : JCS_RGB;
    info_.scale_num = 1;
    info_.scale_denom = reduce;
    // The accurate integer transform gives the same pixels on every machine.
    info_.dct_method = JDCT_ISLOW;
    progress_.progress_monitor = [](j_common_ptr common) {
      if (reinterpret_cast<j_decompress_ptr>(common)->input_scan_number > max_scans) {
        ERREXIT(common, JERR_BAD_PROGRESSION);
      }
    };
    info_.progress = &progress_;
    jpeg_start_decompress(&info_);
    return true;
  }
  bool read_rows(uint8_t* to) {
    if (setjmp(error_.jump) != 0) return false;
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = to + static_cast<size_t>(info_.output_scanline) * info_.output_width *
                              static_cast<unsigned>(info_.out_color_components);
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  ErrorManager error_{};
  jpeg_progress_mgr progress_{};
  Decompressor info_;  // points to the two above, so it is destroyed first
};

// Converts CMYK to RGB in place: (H, W, 4) -> (H, W, 3). 255 means no ink, as Adobe's programs
// store it: viewers take that for granted, whether or not a file has Adobe's marker.
void rgb_from_cmyk(RgbImage& image) {
  auto count = static_cast<size_t>(image.size.height * image.size.width);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* from = image.pixels.data() + 4 * i;
    unsigned black = from[3];
    for (size_t c = 0; c < 3; ++c)
      image.pixels[3 * i + c] = static_cast<uint8_t>((from[c] * black + 127) / 255);
  }
  image.pixels.resize(3 * count);
}

}  // namespace

ImageSize jpeg_size(std::span<const uint8_t> file) {
  return Jpeg(file).size();
}

void decode_jpeg(std::span<const uint8_t> file, int reduce, RgbImage& image) {
  Jpeg jpeg(file);
  jpeg.decode(reduce, image);
  if (jpeg.is_cmyk()) rgb_from_cmyk(image);
}

}  // namespace spire
