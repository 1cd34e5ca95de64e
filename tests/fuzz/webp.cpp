// WebP files as pixels.
#include "tests/data/images/webp_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/images.h"

namespace spire::fuzz {

int consume(const uint8_t* data, size_t size) {
  return decode_or_refuse({data, size});
}

std::vector<Bytes> seeds() {
  RgbImage image = smooth_image(17, 23);
  uint8_t* lossy = nullptr;
  size_t bytes = WebPEncodeRGB(image.pixels.data(), 23, 17, 3 * 23, 60, &lossy);
  return {webp_bytes(image), webp_bytes(smooth_image(1, 1)), taken_webp(lossy, bytes),
          webp_with_exif(smooth_image(3, 2), exif_bytes(5))};
}

}  // namespace spire::fuzz
