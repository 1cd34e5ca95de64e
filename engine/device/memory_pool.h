// What a run's memory is used for, and the allocator of one logical device (an entry in a process's
// list of devices, which may name a GPU several times): it counts memory by its use and enforces a
// limit, but reserves nothing.
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

namespace spire {

// Plans and reports list all kinds.
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
std::string_view to_string(MemoryKind kind);

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

struct MemoryShortage {  // a request that does not fit, and why it does not
  DeviceId device;
  int pools = 1;  // number of pools whose numbers are summed up here
  MemoryUse asked, in_use;
  MemoryUse planned;            // all zero if not known
  std::optional<size_t> limit;  // MemoryPoolOptions::limit
  std::optional<size_t> free;   // free bytes of the device, if known
  size_t total = 0;             // all bytes of the device
  std::string limited_by = {};  // DeviceSpace::limited_by
  int sharers = 1;              // this and the next two: MemoryPoolOptions
  size_t beside = 0;
  std::string own_limit = {};

  std::optional<size_t> left() const;  // bytes that can still be allocated, if known
};

struct MemoryPoolOptions {
  std::optional<size_t> limit;  // most bytes in use; nullopt: all that the device has
  // The other options serve messages. sharers: number of pools, with this one, that divide one
  // memory.limit equally. own_limit: the word of the config that gives this pool a limit of its
  // own, "cuda:0:8GiB"; else empty.
  int sharers = 1;
  size_t beside = 0;  // bytes of that memory.limit that pools with limits of their own take
  std::string own_limit = {};
  // Returns the message for a shortage. Must not call the pool. Empty: plain_text() is used.
  std::function<std::string(const MemoryShortage&)> explain = {};
};

class MemoryPool {
 public:
  using Options = MemoryPoolOptions;
  explicit MemoryPool(DeviceId device, const Options& options = {});
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Allocates one block of use.total() bytes, which count until it is freed. It may outlive the
  // pool. Throws as allocate_memory(), and Error(out_of_memory) beyond the limit. The whole class
  // is thread-safe.
  std::unique_ptr<DeviceMemory> allocate(const MemoryUse& use);
  std::unique_ptr<DeviceMemory> allocate(MemoryKind kind, size_t bytes) {
    return allocate({{kind, bytes}});
  }

  // Announces all allocations to come, for foresee_shortage() and messages; reserves nothing.
  void plan(const MemoryUse& planned);

  DeviceId device() const { return device_; }
  const Options& options() const { return options_; }
  MemoryUse planned() const;
  MemoryUse in_use() const;
  MemoryUse peak() const;  // the largest use of each kind, at whatever time that was
  std::string explain(const MemoryShortage& shortage) const;

 private:
  struct Ledger;  // the counts; blocks share its ownership, and subtract their bytes when freed

  DeviceId device_;
  Options options_;
  std::shared_ptr<Ledger> ledger_;
};

bool same_memory(DeviceId a, DeviceId b);  // all CPU devices have the host's

using MemoryPools = std::vector<std::unique_ptr<MemoryPool>>;

// Returns the first shortage that there would be if each pool allocated the rest of its plan: of a
// pool against its limit, or of all pools of a device together against its free memory (CPU devices
// share one memory). nullopt: all should fit. free_share: the part of the free memory that may be
// used, in (0, 1].
std::optional<MemoryShortage> foresee_shortage(const MemoryPools& pools, double free_share = 1);

// Returns "cuda:0: cannot allocate 7.0 MiB for activations; 3.0 MiB are left".
std::string plain_text(const MemoryShortage& shortage);

}  // namespace spire
