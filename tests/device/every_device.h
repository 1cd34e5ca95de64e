// Test bodies for every device: class LaneTest : public EveryDevice {}; TEST_P(LaneTest, ...), then
// SPIRE_TEST_ON_EVERY_DEVICE(LaneTest). CUDA instances skip themselves without a device;
// tests/emulation runs them on the CPU.
#pragma once
#include <vector>

#include <gtest/gtest.h>

#include "engine/device/device_memory.h"
#include "engine/device/stream.h"

namespace spire {

class EveryDevice : public testing::TestWithParam<DeviceId> {
 protected:
  void SetUp() override {
    if (GetParam().kind == DeviceKind::cuda && discover_cuda().devices.empty())
      GTEST_SKIP() << "no CUDA device";
    make_current(GetParam());
    stream_ = make_stream(GetParam());
  }
  bool on_gpu() const { return GetParam().kind == DeviceKind::cuda; }
  Stream& stream() { return *stream_; }

 private:
  std::unique_ptr<Stream> stream_;
};

inline std::string device_test_name(const testing::TestParamInfo<DeviceId>& info) {
  return info.param.kind == DeviceKind::cuda ? "cuda" : "cpu";
}

#define SPIRE_TEST_ON_EVERY_DEVICE(Fixture)                                            \
  INSTANTIATE_TEST_SUITE_P(Everywhere, Fixture,                                        \
                           testing::Values(DeviceId{}, DeviceId{DeviceKind::cuda, 0}), \
                           device_test_name)

// A vector in a device's memory.
template <typename T>
class OnDevice {
 public:
  OnDevice(DeviceId device, const std::vector<T>& values)
      : size_(values.size()), memory_(allocate_memory(device, size_ * sizeof(T))) {
    set(values);
  }
  void set(const std::vector<T>& values) { memory_->write(values.data(), size_ * sizeof(T)); }
  T* data() const { return memory_->as<T>(); }
  std::vector<T> values() const {
    std::vector<T> values(size_);
    memory_->read(values.data(), size_ * sizeof(T));
    return values;
  }

 private:
  size_t size_;
  std::unique_ptr<DeviceMemory> memory_;
};

}  // namespace spire
