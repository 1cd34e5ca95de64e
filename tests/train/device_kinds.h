// Fixture for tests of training that run on each kind of device: TEST_P of a suite that derives
// from OnEachKind, and SPIRE_TEST_ON_EACH_KIND(Suite) once. Without a GPU the instances for CUDA
// skip; tests/emulation runs them on the CPU.
#pragma once
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/device/device.h"

namespace spire {

// Returns "cpu:0", "cpu:1", ...; or "cuda:0", "cuda:1", ..., repeating the GPUs of this machine.
inline std::vector<std::string> devices_of(DeviceKind kind, int64_t count) {
  auto gpus = static_cast<int64_t>(discover_cuda().devices.size());
  std::vector<std::string> names;
  for (int64_t d = 0; d < count; ++d) {
    bool cuda = kind == DeviceKind::cuda;
    names.push_back(cuda ? "cuda:" + std::to_string(gpus ? d % gpus : d)
                         : "cpu:" + std::to_string(d));
  }
  return names;
}

// Processes divide the GPUs among them: with `devices: cuda` each has at least one.
inline bool can_share(DeviceKind kind, int devices, int ranks) {
  if (kind == DeviceKind::cpu || ranks == 1) return true;
  return devices == static_cast<int>(discover_cuda().devices.size()) && devices >= ranks;
}
inline std::vector<std::string> devices_of_rank(DeviceKind kind, int devices, int ranks) {
  if (kind == DeviceKind::cuda && ranks > 1) return {"cuda"};
  return devices_of(kind, devices / ranks);
}

inline std::string name_of(DeviceKind kind) {
  return kind == DeviceKind::cuda ? "cuda" : "cpu";
}

template <typename Base = testing::Test>
class SkipsWithoutGpu : public Base {
 protected:
  void skip_without_gpu(DeviceKind kind) {
    if (kind == DeviceKind::cuda && discover_cuda().devices.empty())
      GTEST_SKIP() << discover_cuda().why_none;
  }
};

class OnEachKind : public SkipsWithoutGpu<testing::TestWithParam<DeviceKind>> {
 protected:
  void SetUp() override { skip_without_gpu(GetParam()); }

  static bool on_gpu() { return GetParam() == DeviceKind::cuda; }
  static std::vector<std::string> devices(int64_t count) { return devices_of(GetParam(), count); }
  // The number of processes that a run may have with a device each, and these devices.
  static std::vector<int> rank_counts(std::vector<int> counts) {
    std::erase_if(counts, [](int ranks) { return !can_share(GetParam(), ranks, ranks); });
    return counts;
  }
  static std::vector<std::string> devices_of_ranks(int ranks) {
    return devices_of_rank(GetParam(), ranks, ranks);
  }
};

#define SPIRE_TEST_ON_EACH_KIND(Suite)                                                       \
  INSTANTIATE_TEST_SUITE_P(Kinds, Suite, testing::Values(DeviceKind::cpu, DeviceKind::cuda), \
                           [](const auto& test) { return name_of(test.param); })

}  // namespace spire
