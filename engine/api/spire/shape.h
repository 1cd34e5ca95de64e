// Shape of a tensor: up to six dimensions, stored inline.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include <spire/export.h>

namespace spire {

class SPIRE_API Shape {
 public:
  static constexpr int max_rank = 6;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return dims_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int axis) { return dims_[static_cast<size_t>(axis)]; }
  int64_t back() const { return dims_[static_cast<size_t>(rank_ - 1)]; }
  int64_t elements() const;  // 1 for a scalar
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }

  bool operator==(const Shape& other) const = default;

 private:
  std::array<int64_t, max_rank> dims_{};
  int rank_ = 0;
};

SPIRE_API std::string to_string(const Shape& shape);  // "(128, 28, 28, 1)"

}  // namespace spire
