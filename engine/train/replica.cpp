#include "engine/train/replica.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "engine/base/fail.h"
#include "engine/base/hash.h"
#include "engine/train/device_set.h"

namespace spire {
namespace {

// Returns the index of the first value that differs from most others; of two that differ, 1;
// values.size() when all are equal.
size_t odd_one_out(const std::vector<uint64_t>& values) {
  auto count = [&](uint64_t value) { return std::count(values.begin(), values.end(), value); };
  uint64_t common = values[0];
  for (uint64_t value : values) {
    if (count(value) > count(common)) common = value;
  }
  auto odd = std::find_if(values.begin(), values.end(), [&](uint64_t v) { return v != common; });
  return static_cast<size_t>(odd - values.begin());
}

// Gathers the ranks' hashes, one a device, in device order.
std::vector<uint64_t> gather_hashes(DeviceSet& devices, const std::vector<uint64_t>& mine) {
  if (devices.ranks() == 1) return mine;
  std::string bytes(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(uint64_t));
  std::vector<uint64_t> all;
  std::vector<std::string> parts;
  devices.status().wait(0, [&] { parts = all_gather(*devices.group(), bytes); });
  for (const std::string& part : parts) {
    size_t begin = all.size();
    all.resize(begin + part.size() / sizeof(uint64_t));
    std::memcpy(all.data() + begin, part.data(), part.size());
  }
  return all;
}

// Returns hash(weights) of every replica of the run.
template <typename Hash>
std::vector<uint64_t> hash_replicas(DeviceSet& devices, const Hash& hash) {
  std::vector<uint64_t> mine;
  for (int d = devices.local().begin; d < devices.local().end; ++d)
    mine.push_back(hash(devices.read_weights(d)));
  return gather_hashes(devices, mine);
}

}  // namespace

void Replica::allocate(MemoryPool& memory) {
  weights = memory.allocate(MemoryKind::weights, weight_bytes_);
  forms.allocate(memory);
}

float* Replica::read(Buffer& copy) const {
  if (weights->on_host()) return values();
  if (copy.bytes() < weights->bytes()) copy = Buffer(weights->bytes());
  weights->read(copy.data(), weights->bytes());
  return copy.as<float>();
}

void Replica::write(const float* from) {
  if (from != values()) weights->write(from, weights->bytes());
}

// A device whose memory or transfers are faulty has other bits than the rest. Compares one hash a
// device; where they differ, one a device of each tensor.
void check_replicas(DeviceSet& devices, const ParameterLayout& layout) {
  auto all = hash_replicas(devices, [&](const float* weights) { return layout.hash(weights); });
  if (odd_one_out(all) == all.size()) return;
  for (const auto& entry : layout.entries()) {
    auto bytes = static_cast<size_t>(entry.elements()) * sizeof(float);
    all = hash_replicas(
        devices, [&](const float* weights) { return hash64(weights + entry.offset, bytes); });
    size_t odd = odd_one_out(all);
    if (odd == all.size()) continue;
    const PlacedDevice& culprit = devices.device(static_cast<int>(odd));
    throw SymmetricError(
        Category::collective,
        fmt::format("the replicas differ: '{}' on {}{} has other bits than on {}; its memory or a "
                    "transfer is faulty; leave that device out and continue from the last "
                    "checkpoint with --resume auto",
                    entry.name, devices.ranks() > 1 ? fmt::format("rank {}, ", culprit.rank) : "",
                    to_string(culprit.id), all.size() > 2 ? "most devices" : "the other device"));
  }
}

}  // namespace spire
