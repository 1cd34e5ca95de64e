// TIFF files as pixels.
#include "tests/data/images/tiff_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/images.h"

namespace spire::fuzz {

int consume(const uint8_t* data, size_t size) {
  return decode_or_refuse({data, size});
}

std::vector<Bytes> seeds() {
  RgbImage image = smooth_image(9, 11);
  std::vector<Bytes> seeds;
  for (uint16_t compression : {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_PACKBITS})
    for (const char* mode : {"wl", "wb"})
      seeds.push_back(
          tiff_bytes(image.pixels, image.size, {.mode = mode, .compression = compression}));
  seeds.push_back(tiff_bytes(pattern(99), image.size, {.samples = 1}));
  seeds.push_back(tiff_bytes(pattern(4 * 99), image.size, {.samples = 4}));
  return seeds;
}

}  // namespace spire::fuzz
