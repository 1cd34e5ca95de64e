// Gradients of towers whose sum depends on the order of additions, and that sum by hand.
#pragma once
#include <cmath>
#include <vector>

#include <spire/random_stream.h>

#include "engine/update/tree.h"

namespace spire {

using Floats = std::vector<float>;

inline Floats values_of_tower(int tower, int64_t floats) {
  RandomStream random(11, Purpose::initialize, static_cast<uint64_t>(tower));
  Floats values(static_cast<size_t>(floats));
  uint64_t i = 0;
  for (float& value : values) {
    float u = random.uniform(i++) - 0.5f;
    value = u * std::exp2(20 * random.uniform(i++));
  }
  return values;
}

inline std::vector<Floats> values_of_towers(int towers, int64_t floats) {
  std::vector<Floats> values;
  for (int tower = 0; tower < towers; ++tower) values.push_back(values_of_tower(tower, floats));
  return values;
}

// Returns the sum of the node's towers along the tree.
inline Floats tree_of(const std::vector<Floats>& values, TowerRange node) {
  if (node.size() == 1) return values[static_cast<size_t>(node.begin)];
  int split = tree_split(node);
  Floats left = tree_of(values, {node.begin, split}), right = tree_of(values, {split, node.end});
  for (size_t i = 0; i < left.size(); ++i) left[i] += right[i];
  return left;
}

}  // namespace spire
