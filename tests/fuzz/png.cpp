// PNG files as pixels; once more with the checksums of its chunks mended, as they hide the rest.
#include <array>

#include <zlib.h>

#include "engine/base/fail.h"
#include "engine/data/images/image_formats.h"
#include "tests/data/images/image_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/images.h"

namespace spire::fuzz {
namespace {

uint32_t number_at(const Bytes& bytes, size_t at) {
  return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 | uint32_t{bytes[at + 2]} << 8 |
         bytes[at + 3];
}

// A chunk: its length, four letters, that many bytes, their checksum.
Bytes mended(Bytes bytes) {
  constexpr size_t signature = 8, frame = 12;
  for (size_t at = signature; at + frame <= bytes.size();) {
    size_t length = number_at(bytes, at);
    if (length > bytes.size() - at - frame) break;
    auto right =
        static_cast<uint32_t>(crc32(0, bytes.data() + at + 4, static_cast<uInt>(length + 4)));
    for (size_t i = 0; i < 4; ++i)
      bytes[at + 8 + length + i] = static_cast<uint8_t>(right >> (24 - 8 * i));
    at += frame + length;
  }
  return bytes;
}

}  // namespace

int consume(const uint8_t* data, size_t size) {
  std::span<const uint8_t> file(data, size);
  if (is_jpeg(file)) return refused;  // the target jpeg's
  int as_it_is = decode_or_refuse(file);
  int with_checksums = decode_or_refuse(mended(Bytes(data, data + size)));
  require(as_it_is == refused || with_checksums == accepted, "mending breaks an image");
  return as_it_is;
}

std::vector<Bytes> seeds() {
  Bytes pixels = pattern(8 * 7 * 9);
  std::vector<Bytes> seeds;
  constexpr std::array<png_uint_32, 6> formats = {PNG_FORMAT_GRAY,     PNG_FORMAT_GA,
                                                  PNG_FORMAT_RGB,      PNG_FORMAT_RGBA,
                                                  PNG_FORMAT_LINEAR_Y, PNG_FORMAT_LINEAR_RGB_ALPHA};
  for (png_uint_32 format : formats) seeds.push_back(png_bytes(pixels.data(), {7, 9}, format));
  seeds.push_back(with_chunk(seeds[0], "eXIf", exif_bytes(8)));
  return seeds;
}

}  // namespace spire::fuzz
