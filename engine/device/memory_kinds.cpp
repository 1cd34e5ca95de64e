#include "engine/device/memory_kinds.h"

#include <algorithm>
#include <numeric>

#include <spire/error.h>

namespace spire {

std::string_view name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::weights:
      return "weights";
    case MemoryKind::gradients:
      return "gradients";
    case MemoryKind::optimizer:
      return "optimizer";
    case MemoryKind::activations:
      return "activations";
    case MemoryKind::workspace:
      return "workspace";
    case MemoryKind::communication:
      return "communication";
    case MemoryKind::checkpoint:
      return "checkpoint";
  }
  fail(Category::unexpected, "unknown kind of memory");
}

MemoryUse::MemoryUse(std::initializer_list<std::pair<MemoryKind, size_t>> parts) {
  for (const auto& [kind, bytes] : parts) (*this)[kind] += bytes;
}

size_t MemoryUse::total() const {
  return std::accumulate(bytes_.begin(), bytes_.end(), size_t{0});
}

MemoryKind MemoryUse::largest() const {
  return static_cast<MemoryKind>(std::max_element(bytes_.begin(), bytes_.end()) - bytes_.begin());
}

MemoryUse& MemoryUse::operator+=(const MemoryUse& other) {
  for (MemoryKind kind : all_memory_kinds) (*this)[kind] += other[kind];
  return *this;
}

MemoryUse& MemoryUse::operator-=(const MemoryUse& other) {
  for (MemoryKind kind : all_memory_kinds) (*this)[kind] -= other[kind];
  return *this;
}

}  // namespace spire
