// The memory of one logical device in one process: what is allocated there, counted by what it is
// for, and held to a limit. Plain memory of its device, on a GPU by cudaMalloc.
//
// Nothing is reserved in advance: the process grows up to its limit as it asks, and leaves the rest
// of the device to others. Nor are freed blocks kept: a run allocates before its first step what it
// holds to its end, so nobody would take them; they go back to the device at once.
#pragma once
#include <array>
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
  weights,      // plain, and in the forms that kernels read
  gradients,    // the buffers that towers write and sums are made in
  optimizer,    // its state, averaged weights, and what an update looks things up in
  activations,  // tensors between ops, and rows of the batch where they are copied to the device
  workspace,    // scratch of kernels and of the step
  communication,
  checkpoint,  // what is copied for one, and goes into or out of one
};
inline constexpr std::array all_memory_kinds = {MemoryKind::weights,   MemoryKind::gradients,
                                                MemoryKind::optimizer, MemoryKind::activations,
                                                MemoryKind::workspace, MemoryKind::communication,
                                                MemoryKind::checkpoint};
std::string_view name(MemoryKind kind);

// Bytes of each kind.
class MemoryUse {
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

// What is known when there is not enough.
struct MemoryShortage {
  DeviceId device;
  int pools = 1;  // whose numbers these are, together
  MemoryUse asked, in_use;
  MemoryUse planned;            // all zero: nobody has said
  std::optional<size_t> limit;  // none: all there is
  // Of the device: what it has left, if it says so, and has in all.
  std::optional<size_t> free;
  size_t total = 0;
  std::string limited_by = {};  // DeviceSpace's

  // What may still be had, as far as that is known.
  std::optional<size_t> left() const;
};

class MemoryPool {
 public:
  struct Options {
    std::optional<size_t> limit;  // bytes of everything together; none: what the device has
    // Puts a shortage in words, without asking the pool; empty: plain_text().
    std::function<std::string(const MemoryShortage&)> explain;
  };
  explicit MemoryPool(DeviceId device, const Options& options = {});
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // One block, for one use or several; zeros on a CPU, anything on a GPU. It may outlive the pool.
  // Throws Error(out_of_memory) beyond the limit or where the device is full, and Error(device) for
  // a GPU that is not there. Any thread may call it, as everything here.
  std::unique_ptr<DeviceMemory> allocate(const MemoryUse& use);
  std::unique_ptr<DeviceMemory> allocate(MemoryKind kind, size_t bytes) {
    return allocate({{kind, bytes}});
  }

  // All that is going to be allocated, for messages and to look ahead. It binds nobody.
  void plan(const MemoryUse& planned);

  DeviceId device() const { return device_; }
  std::optional<size_t> limit() const { return options_.limit; }
  MemoryUse planned() const;
  MemoryUse in_use() const;
  MemoryUse peak() const;  // the most of each kind so far
  std::string explain(const MemoryShortage& shortage) const;

 private:
  struct Ledger;  // shared with the blocks, which strike themselves off when they go

  DeviceId device_;
  Options options_;
  std::shared_ptr<Ledger> ledger_;
};

using MemoryPools = std::vector<std::unique_ptr<MemoryPool>>;

// The first thing that lacks for the rest of the pools' plans: within a pool's limit, or on a
// device for all its pools together: a GPU, or all CPUs, which have one memory. None: it fits, as
// far as one can tell before.
std::optional<MemoryShortage> foresee_shortage(const MemoryPools& pools);

// "cuda:0: 7.0 MiB asked for, for activations; 3.0 MiB are left".
std::string plain_text(const MemoryShortage& shortage);

}  // namespace spire::inline device
