// Allocator of one logical device: counts memory by its use, enforces a limit, reserves nothing.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/device/device_memory.h"

namespace spire::inline device {

enum class MemoryKind : uint8_t {
  weights,      // plain weights and their packed forms
  gradients,    // buffers of towers and of their sums
  optimizer,    // optimizer state, averaged weights and tables of the update
  activations,  // tensors between ops, and the batch on the device
  workspace,    // scratch of kernels and of the step
  communication,
  checkpoint,  // snapshots, and buffers for reading and writing
};
inline constexpr std::array all_memory_kinds = {MemoryKind::weights,   MemoryKind::gradients,
                                                MemoryKind::optimizer, MemoryKind::activations,
                                                MemoryKind::workspace, MemoryKind::communication,
                                                MemoryKind::checkpoint};
std::string_view name(MemoryKind kind);

class MemoryUse {  // bytes of each kind
 public:
  MemoryUse() {}
  MemoryUse(std::initializer_list<std::pair<MemoryKind, size_t>> parts);

  size_t& operator[](MemoryKind kind) { return bytes_[static_cast<size_t>(kind)]; }
  size_t operator[](MemoryKind kind) const { return bytes_[static_cast<size_t>(kind)]; }
  size_t total() const;
  MemoryKind largest() const;  // the first of equal ones
  MemoryUse& operator+=(const MemoryUse& other);
  MemoryUse& operator-=(const MemoryUse& other);  // REQUIRES: not more than there is
  bool operator==(const MemoryUse&) const = default;

 private:
  std::array<size_t, all_memory_kinds.size()> bytes_{};
};

struct MemoryShortage {  // a request that does not fit, and why
  DeviceId device;
  int pools = 1;  // number of pools that these numbers sum up
  MemoryUse asked, in_use;
  MemoryUse planned;            // all zero: not known
  std::optional<size_t> limit;  // none: all of the device
  std::optional<size_t> free;   // of the device, if known
  size_t total = 0;             // of the device
  std::string limited_by = {};  // as in DeviceSpace

  std::optional<size_t> left() const;  // bytes that can still be allocated, if known
};

class MemoryPool {
 public:
  struct Options {
    std::optional<size_t> limit;  // bytes in total; none: all of the device
    // Describes a shortage. Must not call the pool. Empty: plain_text().
    std::function<std::string(const MemoryShortage&)> explain;
  };
  explicit MemoryPool(DeviceId device, const Options& options = {});
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Allocates a block for one use or several; it may outlive the pool. Throws as allocate_memory(),
  // and Error(out_of_memory) beyond the limit. Any thread may call any function of the pool.
  std::unique_ptr<DeviceMemory> allocate(const MemoryUse& use);
  std::unique_ptr<DeviceMemory> allocate(MemoryKind kind, size_t bytes) {
    return allocate({{kind, bytes}});
  }

  void plan(const MemoryUse& planned);  // announces allocations; reserves nothing

  DeviceId device() const { return device_; }
  std::optional<size_t> limit() const { return options_.limit; }
  MemoryUse planned() const;
  MemoryUse in_use() const;
  MemoryUse peak() const;  // of each kind by itself
  std::string explain(const MemoryShortage& shortage) const;

 private:
  struct Ledger;  // the counts; blocks share it and subtract themselves when they are freed

  DeviceId device_;
  Options options_;
  std::shared_ptr<Ledger> ledger_;
};

using MemoryPools = std::vector<std::unique_ptr<MemoryPool>>;

// Returns the first shortage that the pools' plans would meet: within a pool's limit, or on a
// device for all its pools (all CPU devices share one memory). None: it should fit.
std::optional<MemoryShortage> foresee_shortage(const MemoryPools& pools);

// "cuda:0: 7.0 MiB asked for, for activations; 3.0 MiB are left".
std::string plain_text(const MemoryShortage& shortage);

}  // namespace spire::inline device
