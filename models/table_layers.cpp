#include "models/table_layers.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <spire/layers.h>

#include "engine/base/fail.h"

namespace spire {
namespace {

// Applies a function to each column of x (N, K).
Value each_column(Graph& graph, Value x, const std::function<Value(Value, size_t)>& apply) {
  int64_t columns = graph.spec(x).shape.back();
  if (columns == 1) return apply(x, 0);
  std::vector<Value> parts;
  for (int64_t k = 0; k < columns; ++k)
    parts.push_back(apply(slice(graph, x, 1, k, 1), static_cast<size_t>(k)));
  return concat(graph, parts, 1);
}

int64_t embedding_width(int64_t levels) {
  return std::min<int64_t>(50, (levels + 1) / 2);
}

}  // namespace

Value embed_categories(Graph& graph, Value features, const std::vector<TableColumn>& table) {
  if (std::ranges::none_of(table, &TableColumn::embedded)) return features;
  std::vector<Value> parts;
  int64_t begin = 0, next = 0;  // features of [begin, next) stay
  auto keep = [&] {
    if (begin < next) parts.push_back(slice(graph, features, 1, begin, next - begin));
  };
  for (size_t column = 0; column < table.size(); ++column) {
    int64_t levels = table[column].features();
    if (table[column].embedded) {
      keep();
      int64_t width = embedding_width(levels);
      // A product with a row of zeros and a one picks the vector of its level.
      parts.push_back(dense(graph, fmt::format("embedding.{}", column),
                            slice(graph, features, 1, next, levels), width, false,
                            init::normal(1 / std::sqrt(static_cast<double>(width)))));
      begin = next + levels;
    }
    next += levels;
  }
  keep();
  return parts.size() == 1 ? parts[0] : concat(graph, parts, 1);
}

// The mean is subtracted first: that loses no bits of values near it.
Value standardized(Graph& graph, Value values, const Normalization& by) {
  if (by.mean.empty()) return values;
  return each_column(graph, values, [&](Value x, size_t k) {
    Value centred = scale(graph, x, 1, static_cast<float>(-by.mean[k]));
    return scale(graph, centred, static_cast<float>(1 / by.stddev[k]));
  });
}

Value in_own_unit(Graph& graph, Value found, const Normalization& by) {
  if (by.mean.empty()) return found;
  return each_column(graph, cast(graph, found, DType::f32), [&](Value x, size_t k) {
    return scale(graph, x, static_cast<float>(by.stddev[k]), static_cast<float>(by.mean[k]));
  });
}

}  // namespace spire
