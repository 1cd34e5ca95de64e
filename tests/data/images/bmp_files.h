// BMP files made in memory.
#pragma once
#include "engine/data/images/image_formats.h"
#include "tests/data/test_files.h"

namespace spire {

inline void put_number(uint32_t number, size_t bytes, Bytes& file) {
  for (size_t i = 0; i < bytes; ++i) file.push_back(static_cast<uint8_t>(number >> (8 * i)));
}

struct BmpKind {
  uint32_t bits = 24;
  bool from_top = false;
  uint32_t compression = 0;  // 3: `masks` of red, green, blue
  std::vector<uint32_t> masks = {};
  std::vector<uint32_t> palette = {};  // 0xRRGGBB
};

// rows: as they are stored, each with its padding, one after another.
inline Bytes bmp_bytes(ImageSize size, const Bytes& rows, const BmpKind& kind = {}) {
  Bytes file = {'B', 'M'};
  auto tables = static_cast<uint32_t>(4 * (kind.masks.size() + kind.palette.size()));
  put_number(static_cast<uint32_t>(54 + tables + rows.size()), 4, file);
  put_number(0, 4, file);
  put_number(54 + tables, 4, file);  // where the pixels begin
  put_number(40, 4, file);
  put_number(static_cast<uint32_t>(size.width), 4, file);
  put_number(static_cast<uint32_t>(kind.from_top ? -size.height : size.height), 4, file);
  put_number(1, 2, file);
  put_number(kind.bits, 2, file);
  put_number(kind.compression, 4, file);
  for (int unused = 0; unused < 3; ++unused) put_number(0, 4, file);  // bytes, resolution
  put_number(static_cast<uint32_t>(kind.palette.size()), 4, file);
  put_number(0, 4, file);
  for (uint32_t mask : kind.masks) put_number(mask, 4, file);
  for (uint32_t color : kind.palette) put_number(color, 4, file);
  file.insert(file.end(), rows.begin(), rows.end());
  return file;
}

}  // namespace spire
