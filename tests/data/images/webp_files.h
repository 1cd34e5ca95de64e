// WebP files made in memory.
#pragma once
#include <webp/encode.h>

#include "tests/data/images/image_files.h"

namespace spire {

// Copies what libwebp allocated, and frees it.
inline Bytes taken_webp(uint8_t* data, size_t bytes) {
  Bytes file(data, data + bytes);
  WebPFree(data);
  return file;
}

// Without loss of any bit.
inline Bytes webp_bytes(const RgbImage& image) {
  uint8_t* data = nullptr;
  int width = static_cast<int>(image.size.width), height = static_cast<int>(image.size.height);
  size_t bytes = WebPEncodeLosslessRGB(image.pixels.data(), width, height, 3 * width, &data);
  return taken_webp(data, bytes);
}

}  // namespace spire
