// What the targets of picture formats share.
#pragma once
#include <spire/data/picture_decode.h>

#include <optional>

namespace spire::fuzz {

// The size that the header states; nothing where decoding so many pixels would take too long for
// one input. Throws what picture_size() throws.
inline std::optional<ImageSize> size_to_decode(std::span<const uint8_t> file) {
  constexpr int64_t most_pixels = 1 << 20;
  ImageSize size = picture_size(file);
  require(size.height >= 1 && size.width >= 1 && size.height <= most_picture_side &&
              size.width <= most_picture_side,
          "a size of {} x {}", size.height, size.width);
  if (size.height * size.width > most_pixels) return {};
  return size;
}

}  // namespace spire::fuzz
