// A build without libwebp: WebP files are refused.
#include "engine/base/fail.h"
#include "engine/data/images/image_formats.h"

namespace spire {
namespace {

[[noreturn]] void refuse() {
  fail(Category::data,
       "it is a WebP file, which this build cannot read; build Spire with libwebp "
       "(-DSPIRE_WEBP=ON), or convert the file to PNG");
}

}  // namespace

ImageSize webp_size(std::span<const uint8_t> /*file*/) {
  refuse();
}

void decode_webp(std::span<const uint8_t> /*file*/, RgbImage& /*image*/) {
  refuse();
}

}  // namespace spire
