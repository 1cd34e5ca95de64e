// A build without libtiff: TIFF files are refused.
#include "engine/base/fail.h"
#include "engine/data/images/image_formats.h"

namespace spire {
namespace {

[[noreturn]] void refuse() {
  fail(Category::data,
       "it is a TIFF file, which this build cannot read; build Spire with libtiff "
       "(-DSPIRE_TIFF=ON), or convert the file to PNG");
}

}  // namespace

ImageSize tiff_size(std::span<const uint8_t> /*file*/) {
  refuse();
}

void decode_tiff(std::span<const uint8_t> /*file*/, RgbImage& /*image*/) {
  refuse();
}

}  // namespace spire
