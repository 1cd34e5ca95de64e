// Slots of a sweep on described machines, and points that cannot run side by side on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/fail.h"
#include "tests/base/message_of.h"
#include "tools/sweep/plan.h"
#include "tools/sweep/slots.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Eight cores; GPUs 0 and 1 are near the first four, 2 and 3 near the others.
RankHardware machine(int gpus) {
  RankHardware hardware;
  hardware.cores = {0, 1, 2, 3, 4, 5, 6, 7};
  hardware.why_no_gpu = gpus == 0 ? "no NVIDIA driver was found on this machine" : "";
  for (int i = 0; i < gpus; ++i) {
    hardware.gpus.push_back(
        {.index = i, .name = "H100", .uuid = "GPU-" + std::to_string(i), .pci_bus_id = ""});
    hardware.near_gpu[i] = i < 2 ? std::vector{0, 1, 2, 3} : std::vector{4, 5, 6, 7};
  }
  return hardware;
}

// "cpu:0 4 cores, cpu:1 4 cores", or the message of the error.
std::string slots_text(const SlotRequest& request, const std::string& devices, int gpus) {
  RunConfig config;
  config.devices = {devices};
  try {
    std::string text;
    for (const SweepSlot& slot : make_slots(request, config, machine(gpus))) {
      text += fmt::format("{}{} {}{}-{}", text.empty() ? "" : ", ", to_string(slot.device),
                          slot.uuid.empty() ? "" : slot.uuid + " ", slot.cores.front(),
                          slot.cores.back());
    }
    return text;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Slots, OnCpusDivideTheCores) {
  EXPECT_EQ(slots_text({}, "cpu", 0), "cpu:0 0-7");
  EXPECT_EQ(slots_text({}, "4xcpu", 0), "cpu:0 0-7");
  EXPECT_EQ(slots_text({}, "auto", 0), "cpu:0 0-7");
  EXPECT_EQ(slots_text({.jobs = 2}, "cpu", 0), "cpu:0 0-3, cpu:1 4-7");
  EXPECT_EQ(slots_text({.jobs = 3}, "cpu", 4), "cpu:0 0-2, cpu:1 3-5, cpu:2 6-7");
  EXPECT_EQ(slots_text({.devices = {"2xcpu"}}, "cuda", 4), "cpu:0 0-3, cpu:1 4-7");
}

TEST(Slots, OnGpusAreOneEachWithAShareOfTheCoresNearIt) {
  const char* all = "cuda:0 GPU-0 0-1, cuda:1 GPU-1 2-3, cuda:2 GPU-2 4-5, cuda:3 GPU-3 6-7";
  EXPECT_EQ(slots_text({}, "auto", 4), all);
  EXPECT_EQ(slots_text({}, "cuda", 4), all);
  EXPECT_EQ(slots_text({}, "cuda:1", 4), all);
  EXPECT_EQ(slots_text({.jobs = 1}, "cuda", 4), "cuda:0 GPU-0 0-3");
  EXPECT_EQ(slots_text({.devices = {"GPU-2"}}, "cuda", 4), "cuda:2 GPU-2 4-7");
  EXPECT_EQ(slots_text({}, "auto:4", 4), all);  // hardware: the idle ones
  EXPECT_EQ(slots_text({.devices = {"cuda:1", "cuda:2"}}, "cuda", 4),
            "cuda:1 GPU-1 0-3, cuda:2 GPU-2 4-7");
  EXPECT_EQ(slots_text({.devices = {"cuda:1", "cuda:1"}}, "cuda", 4),
            "cuda:1 GPU-1 0-1, cuda:1 GPU-1 2-3");
}

TEST(Slots, ThatAreNotThereAreRefused) {
  EXPECT_THAT(slots_text({}, "cuda", 0), HasSubstr("no NVIDIA driver"));
  EXPECT_THAT(slots_text({.devices = {"cuda:4"}}, "cuda", 4), HasSubstr("cuda:4 is not there"));
  EXPECT_THAT(slots_text({.jobs = 5}, "cuda", 4), HasSubstr("--jobs 5: there are only 4 devices"));
  EXPECT_THAT(slots_text({.devices = {"cpu:0", "cuda:0"}}, "cuda", 4),
              HasSubstr("different kinds"));
}

TEST(Slots, OfThisMachineAreItsCores) {
  RunConfig config;
  config.devices = {"cpu"};
  SlotQueue queue{[](double) { return false; }, [](std::string_view) {}};
  SweepSlots slots({.jobs = 1}, config, queue);
  ASSERT_EQ(slots.slots().size(), 1u);
  EXPECT_EQ(slots.slots()[0].word(), "cpu:0");
  EXPECT_FALSE(slots.slots()[0].cores.empty());
  EXPECT_THROW(SweepSlots({.jobs = -1}, config, queue), Error);
}

std::vector<SweepPoint> points(const std::vector<std::string>& addresses) {
  std::vector<SweepPoint> all(addresses.size());
  for (size_t i = 0; i < all.size(); ++i) all[i].resolved.config.monitor.serve = addresses[i];
  return all;
}

TEST(SweepPorts, AreRefusedWhereTwoRunsWouldShareOne) {
  std::vector<SweepSlot> two(2), one(1);
  for (const char* address : {"9400", "0.0.0.0:9400"})
    EXPECT_THAT(message_of(Category::config,
                           [&] {
                             refuse_shared_ports(points({"127.0.0.1:9400", address}), two);
                           }),
                testing::HasSubstr(std::string("monitor.serve: ") + address + ", but 2 runs"));
  refuse_shared_ports(points({"9400", "9400"}), one);
  for (const auto& good : {points({"0", "0"}), points({"none", "none"}), points({"9400", "9401"})})
    refuse_shared_ports(good, two);
}

// The page and the metrics of a run, as its server answers for both.
TEST(SweepPorts, OfOnePointAreItsOwn) {
  std::vector<SweepPoint> both = points({"9400", "none"});
  both[0].resolved.config.monitor.prometheus = "9400";
  refuse_shared_ports(both, std::vector<SweepSlot>(2));
  both[1].resolved.config.monitor.prometheus = "9400";
  EXPECT_THROW(refuse_shared_ports(both, std::vector<SweepSlot>(2)), Error);
}

}  // namespace
}  // namespace spire
