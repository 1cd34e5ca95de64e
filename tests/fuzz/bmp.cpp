// BMP files as pixels.
#include "tests/data/images/bmp_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/images.h"

namespace spire::fuzz {

int consume(const uint8_t* data, size_t size) {
  return decode_or_refuse({data, size});
}

std::vector<Bytes> seeds() {
  Bytes rows = pattern(48);
  BmpKind palette = {.bits = 4, .palette = {0x102030, 0x405060, 0xffffff}};
  BmpKind masks = {.bits = 32, .compression = 3, .masks = {0xff, 0xff00, 0xff0000}};
  BmpKind clear = masks;
  clear.compression = 6;
  clear.masks.push_back(0xff000000);
  return {bmp_bytes({4, 4}, rows),
          bmp_bytes({3, 4}, rows, clear),
          bmp_bytes({4, 4}, rows, {.from_top = true}),
          bmp_bytes({3, 4}, rows, masks),
          bmp_bytes({3, 3}, Bytes(12, 0x12), palette),
          bmp_bytes({3, 3}, Bytes(12, 1), {.bits = 8, .palette = palette.palette}),
          bmp_bytes({3, 3}, Bytes(12, 0x40), {.bits = 1})};
}

}  // namespace spire::fuzz
