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

// The same with Exif: the image behind a header that announces both.
inline Bytes webp_with_exif(const RgbImage& image, const Bytes& exif) {
  Bytes file = webp_bytes(image), whole = {'R', 'I', 'F', 'F', 0, 0, 0, 0, 'W', 'E', 'B', 'P'};
  auto put = [&](const char* name, const Bytes& content) {
    whole.insert(whole.end(), name, name + 4);
    for (int shift = 0; shift < 32; shift += 8)
      whole.push_back(static_cast<uint8_t>(content.size() >> shift));
    whole.insert(whole.end(), content.begin(), content.end());
    whole.resize((whole.size() + 1) / 2 * 2);
  };
  auto width = static_cast<uint8_t>(image.size.width - 1);
  auto height = static_cast<uint8_t>(image.size.height - 1);
  put("VP8X", {0x08, 0, 0, 0, width, 0, 0, height, 0, 0});
  whole.insert(whole.end(), file.begin() + 12, file.end());
  put("EXIF", exif);
  for (size_t i = 0; i < 4; ++i) whole[4 + i] = static_cast<uint8_t>((whole.size() - 8) >> 8 * i);
  return whole;
}

}  // namespace spire
