// What a run's memory is used for, and how much of it. Plans and reports list all kinds.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace spire {

enum class MemoryKind : uint8_t {
  weights,        // plain fp32 weights and the packed forms that kernels read
  gradients,      // gradient buffers of towers, and of sums over towers
  optimizer,      // optimizer state, averaged weights and tables of the update
  activations,    // tensors between ops, and the batch on the device
  workspace,      // scratch of kernels and of training steps
  communication,  // buffers for exchange between devices and processes
  checkpoint,     // copies of the state, and buffers for reading and writing
};
inline constexpr std::array all_memory_kinds = {MemoryKind::weights,   MemoryKind::gradients,
                                                MemoryKind::optimizer, MemoryKind::activations,
                                                MemoryKind::workspace, MemoryKind::communication,
                                                MemoryKind::checkpoint};
std::string_view name(MemoryKind kind);

class MemoryUse {  // a number of bytes for each kind
 public:
  MemoryUse() {}
  MemoryUse(std::initializer_list<std::pair<MemoryKind, size_t>> parts);

  size_t& operator[](MemoryKind kind) { return bytes_[static_cast<size_t>(kind)]; }
  size_t operator[](MemoryKind kind) const { return bytes_[static_cast<size_t>(kind)]; }
  size_t total() const;
  MemoryKind largest() const;  // the kind with most bytes; of equal ones the first
  MemoryUse& operator+=(const MemoryUse& other);
  MemoryUse& operator-=(const MemoryUse& other);  // REQUIRES: of no kind more than there is
  bool operator==(const MemoryUse&) const = default;

 private:
  std::array<size_t, all_memory_kinds.size()> bytes_{};
};

}  // namespace spire
