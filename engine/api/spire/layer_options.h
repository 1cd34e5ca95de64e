// Values of options of layers and losses.
#pragma once
#include <cstdint>
#include <string>

#include <spire/export.h>
#include <spire/shape.h>

namespace spire {

struct Extent2d {
  int64_t h = 1, w = 1;
  bool operator==(const Extent2d&) const = default;
};
SPIRE_API std::string to_string(Extent2d extent);  // "3x5"
SPIRE_API std::string to_short_string(
    Extent2d extent);  // "2" if both are equal, else as to_string()

inline Extent2d extent_of(const Shape& nhwc) {
  return {nhwc[1], nhwc[2]};
}

// Loss of a regression, mean over a sample's elements: squared error, absolute error, or their sum.
enum class Regression { mse, l1, l1_l2 };

// Interpolation of images.
enum class Resize { nearest, bilinear };

}  // namespace spire
