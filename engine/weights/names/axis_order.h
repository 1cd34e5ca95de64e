// Where a model's features are pixels in the order H, W, C, which programs with images in the order
// C, H, W number in another order.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/graph/graph.h"
#include "engine/weights/names/name_table.h"

namespace spire::inline weights {

struct PixelExtents {
  int64_t h = 1, w = 1, c = 1;
  bool operator==(const PixelExtents&) const = default;
};

// Axes of a parameter that are such features. rows: its first axis (or its only one), columns: its
// last one of two. Extents that leave the order as it is, of one pixel or one channel, count as
// none.
struct FeatureOrder {
  std::optional<PixelExtents> rows, columns;
};

// Returns the parameters and statistics with such axes: of dense layers behind flatten() or in
// front of a reshape to an image, and of biases and normalization between them. graph: for
// evaluation, before any pass. Throws Error(config) where images become features in another way.
std::map<std::string, FeatureOrder> feature_orders(const Graph& graph);

// Returns the part for a parameter that is a tensor of its own shape, but for the order of features
// where the file has C, H, W.
TensorPart channels_first(const std::string& name, const Shape& shape, const FeatureOrder& order);

}  // namespace spire::inline weights
