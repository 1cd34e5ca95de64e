#include <algorithm>

#include <fmt/ranges.h>

#include <spire/error.h>
#include <spire/tensor.h>

namespace spire {

Shape::Shape(std::initializer_list<int64_t> dims)
    : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  require(rank_ <= max_rank, "a shape has at most {} dimensions, got {}", max_rank, rank_);
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

// The product over no dimensions is 1: a scalar has one element.
int64_t Shape::elements() const {
  int64_t product = 1;
  for (int64_t dim : dims()) product *= dim;
  return product;
}

std::string to_string(const Shape& shape) {
  return fmt::format("({})", fmt::join(shape.dims(), ", "));
}

}  // namespace spire
