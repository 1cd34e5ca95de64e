// Which devices each form of `devices` chooses, on a scripted machine of eight GPUs: 0, 4, 6 and 7
// are idle, 1 and 5 are busy, 2 is split by MIG, 3 is lost (tests/scripted_nvml). The table of
// docs/running.md has a row for each of these.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/fail.h"
#include "engine/config/devices.h"
#include "engine/device/visible_gpus.h"
#include "engine/train/placement/idle_gpus.h"
#include "engine/train/placement/placement.h"
#include "tests/base/message_of.h"
#include "tests/device/system_files.h"
#include "tests/scripted_nvml/scripted_machine.h"

namespace spire {
namespace {

using testing::HasSubstr;
using OnMissing = RunConfig::OnMissing;

// The GPUs that CUDA lists: those that work and that CUDA_VISIBLE_DEVICES shows.
std::vector<CudaDeviceInfo> cuda_devices(const GpuMonitor& monitor,
                                         const std::optional<std::string>& visible) {
  std::vector<HostGpu> host = gpus_counted_by_cuda(monitor.gpus());
  std::vector<CudaDeviceInfo> devices;
  for (const std::string& uuid : visible_gpus(visible, host).uuids) {
    for (const HostGpu& gpu : host) {
      bool mig =
          std::ranges::find(gpu.mig_devices, uuid, &MigDevice::uuid) != gpu.mig_devices.end();
      if (gpu.uuid != uuid && !mig) continue;
      devices.push_back({.ordinal = static_cast<int>(devices.size()),
                         .host_number = gpu.number,
                         .name = gpu.name,
                         .uuid = uuid,
                         .pci_bus_id = gpu.pci_bus_id,
                         .total_bytes = size_t{80} << 30});
    }
  }
  sort_and_number_gpus(devices, visible.has_value());
  return devices;
}

// A process on the scripted machine.
struct Process {
  std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES
  std::vector<std::string> said = {};

  // Returns the placement's GPUs by nvidia-smi's numbers, MIG devices by their UUIDs.
  std::vector<std::string> choose(const RunConfig& given, GpuClaims& claims) {
    RunConfig config = given;
    config.devices = expand_devices(config.devices);
    GpuMonitor monitor;
    RankHardware own{
        .host = "a", .cores = {0, 1}, .gpus = cuda_devices(monitor, visible), .why_no_gpu = ""};
    if (own.gpus.empty()) own.why_no_gpu = "CUDA shows none";
    keep_idle_gpus(config,
                   {claims, [](double) { return true; },
                    [&](std::string_view line) { said.emplace_back(line); }},
                   monitor, own);
    for (const CudaDeviceInfo& gpu : own.gpus) {
      own.use[gpu.index] = look_at(gpu, monitor);
      add_percent(own.use[gpu.index].percent, own.use[gpu.index]);
    }
    std::vector<RankHardware> ranks = {own};
    leave_spare_gpus(config, ranks);
    placement = place_towers(config, share_out(ranks), 0);
    std::vector<std::string> names;
    for (const PlacedDevice& device : placement.devices) {
      auto gpu = std::ranges::find(own.gpus, device.id.index, &CudaDeviceInfo::index);
      bool is_gpu = device.id.kind == DeviceKind::cuda;
      names.push_back(!is_gpu                         ? to_string(device.id)
                      : gpu->uuid.starts_with("MIG-") ? gpu->uuid.substr(0, 8)
                                                      : std::to_string(gpu->host_number));
    }
    return names;
  }
  Placement placement = {};
};

struct Row {
  std::optional<std::string> visible;
  std::vector<std::string> devices;
  OnMissing on_missing = OnMissing::fail;
  std::vector<std::string> chosen;  // empty: refused
  std::string text = {};            // a part of the note, or of the refusal
  std::optional<int64_t> towers = {};
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << "CUDA_VISIBLE_DEVICES=" << row.visible.value_or("(unset)") << " devices:";
  for (const std::string& word : row.devices) *out << " " << word;
}

class EightGpus : public testing::Test {
 protected:
  // waits: false, where the process is asked to stop.
  static GpuQueue queue_of(GpuClaims& claims, bool waits = true) {
    return {claims, [=](double) { return waits; }, [](std::string_view) {}};
  }

  ScriptedMachine machine{ScriptedMachine::eight_gpus()};
  SystemFiles files;
  GpuClaims claims{files.root()};
};

class ChosenDevices : public EightGpus, public testing::WithParamInterface<Row> {};

// Without MIG: with it CUDA shows one MIG device alone.
class ChosenWithoutMig : public ChosenDevices {
 protected:
  void SetUp() override {
    machine.gpu(2)["mig"] = false;
    machine.write();
  }
};

void expect_row(const Row& row, GpuClaims& claims) {
  RunConfig config;
  config.devices = row.devices;
  config.on_missing = row.on_missing;
  config.towers = row.towers;
  Process process{row.visible};
  if (!row.chosen.empty()) {
    EXPECT_EQ(process.choose(config, claims), row.chosen);
    EXPECT_THAT(process.placement.note, HasSubstr(row.text));
    return;
  }
  EXPECT_THAT([&] { process.choose(config, claims); },
              testing::ThrowsMessage<Error>(HasSubstr(row.text)));
}

TEST_P(ChosenDevices, AreThoseOfTheTable) {
  expect_row(GetParam(), claims);
}

TEST_P(ChosenWithoutMig, AreThoseOfTheTable) {
  expect_row(GetParam(), claims);
}

const auto unset = std::optional<std::string>();
using Words = std::vector<std::string>;

// CUDA does not list GPU 3, which is lost; the numbers of the others stay nvidia-smi's.
INSTANTIATE_TEST_SUITE_P(
    WithoutMig, ChosenWithoutMig,
    testing::Values(
        Row{unset, {"auto"}, OnMissing::fail, {"0", "1", "2", "4", "5", "6", "7"}, "the GPUs"},
        // Of more GPUs than towers the idle ones, then the least loaded.
        Row{unset,
            {"auto"},
            OnMissing::fail,
            {"0", "2", "4", "7"},
            "4 of 7 GPUs, as the run has 4 towers: cuda:0 (NVIDIA H100 80GB HBM3), ",
            4},
        Row{unset, {"auto"}, OnMissing::fail, {"0", "2", "4", "5", "6", "7"}, "6 of 7 GPUs", 6},
        Row{unset, {"auto"}, OnMissing::fail, {"4"}, "as the run has 1 tower: cuda:4", 1},
        Row{unset, {"cuda"}, OnMissing::fail, {"0", "4"}, "2 of 7 GPUs", 2},
        Row{unset, {"auto"}, OnMissing::fail, {"0", "1", "2", "4", "5", "6", "7"}, "the GPUs", 9},
        Row{"5,0", {"auto"}, OnMissing::fail, {"0"}, "1 of 2 GPUs", 1},
        Row{unset, {"0", "1", "2"}, OnMissing::fail, {}, "3 devices but only 2 towers", 2},
        Row{unset, {"all"}, OnMissing::fail, {"0", "1", "2", "4", "5", "6", "7"}},
        Row{unset, {"cuda"}, OnMissing::fail, {"0", "1", "2", "4", "5", "6", "7"}},
        Row{unset, {"cpu"}, OnMissing::fail, {"cpu:0"}},
        Row{unset, {"2xcpu"}, OnMissing::fail, {"cpu:0", "cpu:1"}},
        Row{unset, {"2xcuda"}, OnMissing::fail, {"0", "1"}},
        Row{unset, {"4xcuda"}, OnMissing::fail, {"0", "1", "2", "4"}},
        Row{unset, {"8xcuda"}, OnMissing::fail, {}, "8xcuda: there are fewer: cuda:0"},
        Row{unset, {"8xcuda"}, OnMissing::fewer, {"0", "1", "2", "4", "5", "6", "7"}, "7 of 8"},
        Row{unset, {"cuda:2"}, OnMissing::fail, {"2"}},
        Row{unset, {"0", "4"}, OnMissing::fail, {"0", "4"}},
        Row{unset,
            {"cuda:3"},
            OnMissing::fail,
            {},
            "; with on_missing: any the run takes another GPU, with fewer it goes on without it"},
        Row{unset,
            {"cuda:3"},
            OnMissing::any,
            {"4"},
            "cuda:4 in the place of cuda:3, which is missing (on_missing: any)"},
        Row{unset, {"cuda:3", "cuda:4"}, OnMissing::any, {"4", "0"}, "cuda:0 in the place of"},
        Row{unset, {"8xcuda"}, OnMissing::any, {"0", "1", "2", "4", "5", "6", "7"}, "7 of 8"},
        Row{unset, {"cuda:1", "cuda:1"}, OnMissing::fail, {"1", "1"}},
        Row{unset, {"GPU-66660000-0000-4000-8000-000000000006"}, OnMissing::fail, {"5"}},
        Row{unset, {"GPU-7"}, OnMissing::fail, {"6"}},
        Row{unset, {"GPU-"}, OnMissing::fail, {}, "'GPU-' is not a device"},
        Row{unset, {"0000:9a:00.0"}, OnMissing::fail, {"4"}},
        Row{unset, {"9A:00.0"}, OnMissing::fail, {"4"}},
        Row{unset, {"00000000:DB:00.0", "GPU-1"}, OnMissing::fail, {"7", "0"}},
        Row{unset, {"5D:00.0"}, OnMissing::fail, {}, "there is no such device; this machine has"},
        Row{unset,
            {"5D:00.0", "9A:00.0"},
            OnMissing::fewer,
            {"4"},
            "1 of 2 devices, as 5D:00.0 is missing (on_missing: fewer); the towers stay"},
        Row{unset,
            {"5D:00.0"},
            OnMissing::fewer,
            {},
            "NVIDIA GeForce RTX 4090); with on_missing: any the run takes another GPU"},
        Row{unset, {"5D:00.0"}, OnMissing::cpu, {"cpu:0"}, "the CPU (on_missing: cpu), because"},
        Row{unset, {"cuda:0", "cuda:9"}, OnMissing::cpu, {"0"}, "cuda:9 is missing"},
        Row{unset, {"cpu:0", "cuda:0"}, OnMissing::fail, {}, "different kinds of devices"},
        Row{unset, {"auto:1"}, OnMissing::fail, {"4"}},  // the most memory
        Row{unset, {"auto:3"}, OnMissing::fail, {"0", "2", "4"}},
        Row{unset, {"auto:5"}, OnMissing::fail, {"0", "2", "4", "6", "7"}},
        Row{unset,
            {"auto:6"},
            OnMissing::fail,
            {},
            "auto:6: 5 of 6 GPUs idle, busy: cuda:1 (process 5000001 computes), cuda:5 (process "
            "5000003 computes); set timeouts.devices to wait for them, or on_missing: fewer, or "
            "any, "
            "which takes the least loaded of the others"},
        Row{unset, {"auto:6"}, OnMissing::any, {"0", "2", "4", "5", "6", "7"}},  // 5 has less to do
        Row{"1,4", {"auto:1"}, OnMissing::any, {"5"}},
        Row{unset,
            {"auto:6"},
            OnMissing::fewer,
            {"0", "2", "4", "6", "7"},
            "5 of 6 devices, as no more GPUs are idle"},
        Row{"7,0", {"cuda:0"}, OnMissing::fail, {}, "no CUDA device is available"},
        Row{"6,0", {"cuda:0"}, OnMissing::fail, {"7"}},  // CUDA counts those that work
        Row{"5,0", {"auto"}, OnMissing::fail, {"6", "0"}},
        Row{"GPU-7,GPU-1", {"cuda:1"}, OnMissing::fail, {"0"}},
        Row{"GPU-7,GPU-1", {"auto:2"}, OnMissing::fail, {"6", "0"}},
        Row{"0,99,1", {"auto"}, OnMissing::fail, {"0"}},
        Row{"", {"auto"}, OnMissing::fail, {"cpu:0"}},
        Row{"-1", {"auto"}, OnMissing::fail, {"cpu:0"}},
        Row{"", {"cuda"}, OnMissing::fail, {}, "no CUDA device is available: CUDA shows none"},
        Row{"", {"cuda"}, OnMissing::cpu, {"cpu:0"}},
        Row{"", {"auto:1"}, OnMissing::cpu, {"cpu:0"}}));

INSTANTIATE_TEST_SUITE_P(
    WithMig, ChosenDevices,
    testing::Values(Row{unset, {"auto"}, OnMissing::fail, {"MIG-aaaa"}},
                    Row{"MIG-bbbb", {"cuda:0"}, OnMissing::fail, {"MIG-bbbb"}},
                    Row{"MIG-bbbb", {"MIG-bbbb0000"}, OnMissing::fail, {"MIG-bbbb"}},
                    Row{"MIG-bbbb", {"MIG-aaaa"}, OnMissing::fail, {}, "there is no such device"},
                    Row{"MIG-aaaa", {"auto:1"}, OnMissing::fail, {"MIG-aaaa"}},
                    Row{"0,1", {"cuda"}, OnMissing::fail, {"0", "1"}}));

// Processes on two hosts with 8 and 2 GPUs: the one with most leaves some, and each keeps one.
TEST(SpareGpus, AreLeftByTheHostThatHasMost) {
  auto host = [](const std::string& name, int gpus, std::set<int> busy) {
    RankHardware hardware{.host = name, .cores = {0, 1}, .gpus = {}, .why_no_gpu = ""};
    for (int i = 0; i < gpus; ++i) {
      CudaDeviceInfo& gpu = hardware.gpus.emplace_back();
      gpu.index = i;
      gpu.uuid = fmt::format("{}{}", name, i);
      if (busy.contains(i)) hardware.use[i].busy = "process 1 computes";
    }
    return hardware;
  };
  RunConfig config;
  config.towers = 6;
  auto indices = [&](std::vector<RankHardware> ranks) {
    leave_spare_gpus(config, ranks);
    std::vector<std::vector<int>> of_ranks;
    for (const RankHardware& rank : share_out(std::move(ranks))) {
      of_ranks.emplace_back();
      for (const CudaDeviceInfo& gpu : rank.gpus) of_ranks.back().push_back(gpu.index);
    }
    return of_ranks;
  };
  using Indices = std::vector<std::vector<int>>;
  EXPECT_EQ(indices({host("a", 8, {}), host("b", 2, {})}), (Indices{{0, 1, 2, 3}, {0, 1}}));
  // Two processes on each of two hosts with eight GPUs; a host's three are shared out.
  EXPECT_EQ(indices({host("a", 8, {0, 2, 3}), host("a", 8, {0, 2, 3}), host("b", 8, {}),
                     host("b", 8, {})}),
            (Indices{{1}, {4, 5}, {0}, {1, 2}}));
  // Where no host has more GPUs than there are towers, both leave some all the same.
  config.towers = 4;
  std::vector<SharedGpus> kept = kept_gpus(config, {host("a", 4, {}), host("b", 4, {})});
  ASSERT_EQ(kept.size(), 2u);
  for (const SharedGpus& shared : kept) {
    EXPECT_EQ(shared.count, 2);
    EXPECT_TRUE(shared.gives_up_some);
  }
  config.towers = 8;
  EXPECT_TRUE(kept_gpus(config, {host("a", 4, {}), host("b", 4, {})}).empty());
  config.towers = 1;  // placing the towers then says that there are too few
  EXPECT_EQ(indices({host("a", 8, {}), host("b", 2, {})}), (Indices{{0}, {0}}));
  config.devices = {"2xcuda"};
  EXPECT_EQ(indices({host("a", 3, {})}), (Indices{{0, 1, 2}}));
}

TEST_F(EightGpus, OthersOnAGpuAreNamedWithTheirMemory) {
  GpuMonitor monitor;
  std::vector<CudaDeviceInfo> gpus = cuda_devices(monitor, "1,0");
  EXPECT_EQ(others_on(look_at(gpus[0], monitor)),
            "process 5000001 with 39.1 GiB, process 5000002 with 29.8 GiB (9.7 GiB of 79.6 GiB are "
            "free)");
  EXPECT_EQ(others_on(look_at(gpus[1], monitor)), "");
  claims.claim(gpus[1].uuid);
  GpuClaims other(files.root());
  GpuUse use = look_at(gpus[1], monitor);
  EXPECT_EQ(use.busy, "");
  add_claim(gpus[1], other, use);
  EXPECT_THAT(use.busy, HasSubstr("has claimed it"));
}

// Of two runs that start together the second one finds the GPUs free that the first leaves out.
TEST_F(EightGpus, ARunClaimsNoMoreThanItKeeps) {
  GpuMonitor monitor;
  RankHardware own{
      .host = "a", .cores = {0}, .gpus = cuda_devices(monitor, "0,3,4,5"), .why_no_gpu = ""};
  RankHardware others = own;
  claim_least_loaded(own, 2, queue_of(claims));
  GpuClaims second(files.root());
  claim_least_loaded(others, 2, queue_of(second));
  for (const CudaDeviceInfo& gpu : own.gpus)
    EXPECT_EQ(claims.has(gpu.uuid), !second.has(gpu.uuid)) << gpu.index;
  EXPECT_EQ(by_load(others).front(), 2);  // what others have claimed comes last
}

// Without a folder for the files of claims the run goes on.
TEST_F(EightGpus, ClaimsThatCannotBeMadeChooseNothing) {
  GpuMonitor monitor;
  RankHardware own{
      .host = "a", .cores = {0}, .gpus = cuda_devices(monitor, "0,3"), .why_no_gpu = ""};
  GpuClaims nowhere("/dev/null/claims");
  claim_least_loaded(own, 1, queue_of(nowhere));
  EXPECT_EQ(by_load(own), (std::vector<int>{0, 1}));
}

using ParameterDevice = EightGpus;

// One process looks for idle GPUs.
class IdleGpus : public EightGpus {
 protected:
  RankHardware hardware(const std::string& visible) const {
    return {.host = "a", .cores = {0}, .gpus = cuda_devices(monitor, visible), .why_no_gpu = ""};
  }
  static RunConfig with(const std::string& devices) {
    RunConfig config;
    config.devices = {devices};
    config.timeouts.devices = 600;
    return config;
  }

  GpuMonitor monitor;
};

TEST_F(IdleGpus, FewerDevicesKeepTheTowers) {
  RunConfig config;
  config.devices = {"GPU-1", "GPU-4", "GPU-5"};
  config.on_missing = OnMissing::fewer;
  Process process{"0,1,3"};
  EXPECT_EQ(process.choose(config, claims), (Words{"0", "4"}));
  EXPECT_EQ(process.placement.towers, 3);
}

// Names of the device that updates the weights, of a run on GPUs 0, 4 and 5.
TEST_F(ParameterDevice, IsNamedAsDevicesAre) {
  RunConfig config;
  config.devices = {"GPU-1", "GPU-5", "GPU-6"};
  Process process{"0,1,3,4"};  // of those that work: 0, 1, 4, 5
  auto updates = [&](const std::string& word) {
    config.parameter_device = word;
    process.choose(config, claims);
    return process.placement.parameter_device;
  };
  EXPECT_EQ(updates("auto"), 0);
  for (const char* word : {"cuda:2", "GPU-5", "9a:00.0", "0000:9A:00.0"})
    EXPECT_EQ(updates(word), 1);
  EXPECT_EQ(updates("cpu"), 0);
  EXPECT_TRUE(process.placement.updates_on_host);
  EXPECT_THROW(updates("cuda:1"), Error) << "a GPU, but none of the run's";
  EXPECT_THROW(updates("GPU-7"), Error) << "hidden";
  config.on_missing = OnMissing::fewer;
  EXPECT_EQ(updates("GPU-7"), 0);
  EXPECT_THAT(process.placement.note,
              HasSubstr("cuda:0 updates the weights, as parameter_device: GPU-7 is missing"));
}

TEST_F(IdleGpus, AClaimedGpuIsBusy) {
  GpuClaims theirs(files.root());
  RunConfig config;
  config.devices = {"auto:1"};
  Process first{"GPU-1,GPU-5"}, second = first, third = first;
  EXPECT_EQ(first.choose(config, claims), Words{"4"});
  EXPECT_EQ(second.choose(config, theirs), Words{"0"});
  GpuClaims none(files.root());
  EXPECT_THROW(third.choose(config, none), Error);
  claims.release();
  EXPECT_EQ(third.choose(config, none), Words{"4"});
}

TEST_F(IdleGpus, AWaitSaysForWhatAndEndsWhenEnoughAreIdle) {
  RankHardware own = hardware("0,1");
  std::vector<std::string> said;
  double slept = 0;
  auto wait = [&](double seconds) {
    slept += seconds;
    if (slept > 100) {
      machine.gpu(1).erase("processes");
      machine.gpu(1)["compute_percent"] = 0;
      machine.gpu(1)["memory_mib"]["used"] = 4;
      machine.write();
    }
    EXPECT_TRUE(slept > 100 || !claims.has(own.gpus[0].uuid)) << "holds a GPU while it waits";
    return true;
  };
  auto say = [&](auto line) { said.emplace_back(line); };
  keep_idle_gpus(with("auto:2"), {claims, wait, say, [&] { return slept; }}, monitor, own);
  EXPECT_EQ(own.gpus.size(), 2u);
  ASSERT_EQ(said.size(), 2u);  // at once and after a minute
  EXPECT_EQ(
      said[0],
      "waits for 2 idle GPUs (timeouts.devices: 600 s); 1 idle, busy: cuda:1 (process 5000001 "
      "computes)");
}

TEST_F(IdleGpus, AWaitInVainSaysHowLongItWas) {
  RankHardware own = hardware("0,1");
  RunConfig config = with("auto:2");
  config.timeouts.devices = 3;
  double slept = 0;
  auto wait = [&](double seconds) { return slept += seconds, true; };
  GpuQueue queue{claims, wait, [](std::string_view) {}, [&] { return slept; }};
  EXPECT_THAT(
      message_of(Category::device, [&] { keep_idle_gpus(config, queue, monitor, own); }),
      testing::EndsWith("computes), after a wait of 3 s; raise timeouts.devices, or set "
                        "on_missing: fewer, or any, which takes the least loaded of the others"));
}

// Of a run with two ranks, whose other one finds its GPU later.
TEST_F(IdleGpus, ARankHoldsNothingWhileAnotherWaits) {
  GpuClaims theirs(files.root());
  RankHardware own = hardware("0");
  const std::string uuid = own.gpus[0].uuid;
  int votes = 0;
  bool free_meanwhile = false;
  auto wait = [&](double seconds) {
    if (seconds > 1) {  // between two looks
      free_meanwhile = !theirs.claim(uuid);
      theirs.release();
    }
    return true;
  };
  auto agree = [&](QueueVote vote) {
    EXPECT_EQ(vote, QueueVote::enough);
    return ++votes == 1 ? QueueVote::waits : QueueVote::enough;
  };
  keep_idle_gpus(with("auto:1"),
                 {.claims = claims, .wait = wait, .say = [](auto) {}, .agree = agree}, monitor,
                 own);
  EXPECT_EQ(votes, 2);
  EXPECT_TRUE(free_meanwhile);
  EXPECT_TRUE(claims.has(uuid));
}

TEST_F(IdleGpus, MaxTimeEndsTheWaitAsAStop) {
  RankHardware own = hardware("1");
  double slept = 0;
  GpuQueue queue{.claims = claims,
                 .wait = [&](double seconds) { return slept += seconds, true; },
                 .say = [](auto) {},
                 .now = [&] { return slept; },
                 .longest = 30};
  EXPECT_THAT(message_of(Category::interrupted,
                         [&] { keep_idle_gpus(with("auto:1"), queue, monitor, own); }),
              HasSubstr("max_time"));
  EXPECT_NEAR(slept, 30, 3);
}

TEST_F(IdleGpus, AStopEndsTheWait) {
  RankHardware own = hardware("0,1");
  EXPECT_NE(
      message_of(Category::interrupted,
                 [&] { keep_idle_gpus(with("auto:2"), queue_of(claims, false), monitor, own); }),
      "");
}

TEST_F(IdleGpus, WithoutNvmlNobodyKnows) {
  RankHardware own = hardware("0");
  GpuMonitor blind("/nonexistent/nvml.so");
  EXPECT_THAT(message_of(Category::device,
                         [&] { keep_idle_gpus(with("auto:1"), queue_of(claims), blind, own); }),
              HasSubstr("devices: auto:1: cannot see which GPUs are idle: "));
}

}  // namespace
}  // namespace spire
