#include "engine/device/memory_pool.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "engine/base/fail.h"
#include "engine/base/text.h"

namespace spire {

std::string_view to_string(MemoryKind kind) {
  constexpr std::array<std::string_view, all_memory_kinds.size()> names = {
      "weights",   "gradients",     "optimizer", "activations",
      "workspace", "communication", "checkpoint"};  // in the order of the enum
  return names[static_cast<size_t>(kind)];
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

namespace {

// Returns what the pool's device and limit have; nothing is asked for yet.
MemoryShortage shortage_at(DeviceId device, const MemoryPoolOptions& options,
                           const MemoryUse& in_use, const MemoryUse& planned) {
  DeviceSpace space = space_of(device);
  return {.device = device,
          .asked = {},
          .in_use = in_use,
          .planned = planned,
          .limit = options.limit,
          .free = space.free,
          .total = space.total,
          .limited_by = space.limited_by,
          .sharers = options.sharers,
          .beside = options.beside,
          .own_limit = options.own_limit};
}

}  // namespace

std::optional<size_t> MemoryShortage::left() const {
  if (!limit) return free;
  size_t within = *limit - std::min(*limit, in_use.total());
  return free ? std::min(within, *free) : within;
}

// One mutex guards all counts. Blocks hold the ledger by shared_ptr, as they may outlive the pool.
struct MemoryPool::Ledger {
  std::mutex mutex;
  MemoryUse in_use, peak, planned;

  void add(const MemoryUse& use) {
    in_use += use;
    for (MemoryKind kind : all_memory_kinds) peak[kind] = std::max(peak[kind], in_use[kind]);
  }
  void subtract(const MemoryUse& use) {
    std::lock_guard lock(mutex);
    in_use -= use;
  }
};

// No freed blocks are cached: a run allocates before its first step what it keeps to its end, so
// nothing would use them again.
MemoryPool::MemoryPool(DeviceId device, const Options& options)
    : device_(device), options_(options), ledger_(std::make_shared<Ledger>()) {}

// The mutex stays locked throughout, so that two threads cannot both take the last bytes of the
// limit, and a refusal reports counts that belong together.
std::unique_ptr<DeviceMemory> MemoryPool::allocate(const MemoryUse& use) {
  Ledger& ledger = *ledger_;
  std::lock_guard lock(ledger.mutex);
  auto refuse = [&] {
    MemoryShortage shortage = shortage_at(device_, options_, ledger.in_use, ledger.planned);
    shortage.asked = use;
    throw Error(Category::out_of_memory, explain(shortage));
  };
  if (options_.limit && ledger.in_use.total() + use.total() > *options_.limit) refuse();
  std::unique_ptr<DeviceMemory> memory;
  try {
    memory = allocate_memory(device_, use.total());
  } catch (const Error& error) {
    if (error.category() != Category::out_of_memory) throw;
    refuse();  // the device is full: the same message as beyond the limit
  }
  ledger.add(use);
  // A null pointer with a deleter: runs subtract() right after the memory has been freed.
  memory->attach({nullptr, [ledger = ledger_, use](void*) { ledger->subtract(use); }});
  return memory;
}

void MemoryPool::plan(const MemoryUse& planned) {
  std::lock_guard lock(ledger_->mutex);
  ledger_->planned = planned;
}

MemoryUse MemoryPool::planned() const {
  std::lock_guard lock(ledger_->mutex);
  return ledger_->planned;
}

MemoryUse MemoryPool::in_use() const {
  std::lock_guard lock(ledger_->mutex);
  return ledger_->in_use;
}

MemoryUse MemoryPool::peak() const {
  std::lock_guard lock(ledger_->mutex);
  return ledger_->peak;
}

std::string MemoryPool::explain(const MemoryShortage& shortage) const {
  return options_.explain ? options_.explain(shortage) : plain_text(shortage);
}

bool same_memory(DeviceId a, DeviceId b) {
  return a == b || (a.kind == DeviceKind::cpu && b.kind == DeviceKind::cpu);
}

namespace {

// Returns the rest of the pool's plan as one request.
MemoryShortage ahead_of(const MemoryPool& pool) {
  MemoryShortage ahead = shortage_at(pool.device(), pool.options(), pool.in_use(), pool.planned());
  for (MemoryKind kind : all_memory_kinds)
    ahead.asked[kind] = ahead.planned[kind] - std::min(ahead.planned[kind], ahead.in_use[kind]);
  return ahead;
}

// free_share: of the device's free bytes. By value: messages name all that are free.
bool lacks(MemoryShortage ahead, double free_share = 1) {
  if (ahead.free && free_share < 1)
    ahead.free = static_cast<size_t>(free_share * static_cast<double>(*ahead.free));
  auto left = ahead.left();
  return left && ahead.asked.total() > *left;
}

// Adds a pool's request to the others on the same memory.
void join(std::vector<MemoryShortage>& devices, const MemoryShortage& ahead) {
  for (MemoryShortage& known : devices) {
    if (!same_memory(known.device, ahead.device)) continue;
    ++known.pools;
    known.asked += ahead.asked;
    known.in_use += ahead.in_use;
    known.planned += ahead.planned;
    return;
  }
  devices.push_back(ahead);
}

}  // namespace

std::optional<MemoryShortage> foresee_shortage(const MemoryPools& pools, double free_share) {
  std::vector<MemoryShortage> devices;  // one per memory: requests of all its pools
  for (const auto& pool : pools) {
    MemoryShortage ahead = ahead_of(*pool), of_limit = ahead;
    // First each pool against its own limit, whatever the device has free ...
    of_limit.free.reset();
    if (lacks(of_limit)) return ahead;
    // ... then, below, all pools of a device against its free memory.
    ahead.limit.reset();
    join(devices, ahead);
  }
  for (const MemoryShortage& device : devices) {
    if (lacks(device, free_share)) return device;
  }
  return std::nullopt;
}

std::string plain_text(const MemoryShortage& shortage) {
  std::string left, limit;
  if (shortage.limit)
    limit = fmt::format(" of the {} that {} allows", bytes_text(*shortage.limit),
                        shortage.own_limit.empty() ? "memory.limit" : shortage.own_limit);
  if (auto bytes = shortage.left())
    left = fmt::format("; {} are left{}", bytes_text(*bytes), limit);
  return fmt::format("{}: cannot allocate {} for {}{}", to_string(shortage.device),
                     bytes_text(shortage.asked.total()), to_string(shortage.asked.largest()), left);
}

}  // namespace spire
