// A decoded image.
#pragma once
#include <cstdint>
#include <vector>

namespace spire::inline data {

struct ImageSize {
  int64_t height = 0, width = 0;
  bool operator==(const ImageSize&) const = default;
};

struct RgbImage {
  ImageSize size = {};
  std::vector<uint8_t> pixels = {};  // (H, W, 3); may be used again for another image
};

}  // namespace spire::inline data
