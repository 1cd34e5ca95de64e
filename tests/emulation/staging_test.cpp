// Pinned memory: how much of it there is.
#include <gtest/gtest.h>
#include <spire/device/device_memory.h>
#include <tests/emulation/devices.h>

#include <cstdint>

#include "tests/base/message_of.h"

namespace spire {
namespace {

constexpr DeviceId gpu{DeviceKind::cuda, 0};

// So much pinned memory is left, and no more.
class EmulationPinned : public testing::Test {
 protected:
  static void leave(size_t bytes) {
    emulation::set_pinned_limit(emulation::pinned_memory() + bytes);
  }
  ~EmulationPinned() override { emulation::set_pinned_limit(SIZE_MAX); }
};

TEST_F(EmulationPinned, StagingSaysHowMuchTheSystemDidNotGive) {
  leave(1 << 20);
  EXPECT_EQ(message_of(Category::out_of_memory, [] { allocate_staging(gpu, 3 << 20); }),
            "cuda:0: the system gives no 3.0 MiB of pinned memory");
  EXPECT_NO_THROW(allocate_staging(gpu, 1 << 20));
  EXPECT_NO_THROW(allocate_staging({}, 3 << 20));
}

}  // namespace
}  // namespace spire
