// The devices of a machine: the list of them, where CUDA shows no GPU (tests/emulation has those
// that CUDA shows); the table and the lines of trainer devices --watch, and the program.
#include "tools/devices/devices.h"

#include <csignal>

#include <gmock/gmock.h>

#include <spire/devices.h>

#include "tests/device/system_files.h"
#include "tests/scripted_nvml/scripted_machine.h"
#include "tests/tools/program.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

constexpr uint64_t gib = uint64_t{1} << 30;

std::string user(uint32_t id) {
  return id == geteuid() ? "ada" : "somebody";
}

class WatchTable : public testing::Test {
 protected:
  WatchTable() {
    system.file("proc/5000001/comm", "python\n");
    GpuMonitor monitor("", system.root());
    sample = {std::chrono::system_clock::from_time_t(1'770'000'000),
              read_gpus(monitor),
              {.cores = {{0, 0.25}, {3, 0.75}}, .memory_used = 3 * gib, .memory_total = 24 * gib}};
  }
  std::vector<std::string> table(int width) const { return watch_table(sample, width, user); }

  ScriptedMachine machine{ScriptedMachine::eight_gpus()};
  SystemFiles system;
  WatchSample sample;
};

TEST_F(WatchTable, ShowsAllGpusAndWhoUsesThem) {
  EXPECT_THAT(table(140),
              ElementsAre("2026-02-02T02:40:00Z  2 cores 50% busy, memory 3.0/24.0 GiB", "",
                          "GPU  name                     use  GiB        temp  W        MHz        "
                          "slowed by                                 state",
                          "0    NVIDIA H100 80GB HBM3    0%   0.0/79.6   31C   72/700   345/1980   "
                          "idle                                      works",
                          "1    NVIDIA H100 80GB HBM3    98%  69.3/79.6  71C   690/700  1755/1980  "
                          "power cap                                 works",
                          "2    NVIDIA H100 80GB HBM3    -    0.1/79.6   31C   72/700   345/1980   "
                          "idle                                      MIG",
                          "3    -                        -    -          -     -        -          "
                          "-                                         lost",
                          "4    NVIDIA A100-SXM4-80GB    0%   0.0/80.0   34C   61/400   210/1410   "
                          "idle                                      works",
                          "5    NVIDIA A100-SXM4-80GB    87%  62.6/80.0  89C   301/400  1095/1410  "
                          "hardware slowdown, heat, heat (hardware)  works",
                          "6    NVIDIA L4                0%   0.0/22.5   38C   17/72    210/2040   "
                          "idle                                      works",
                          "7    NVIDIA GeForce RTX 4090  0%   0.0/24.0   36C   22/450   210/3120   "
                          "idle                                      works",
                          "", "GPU  pid      user  memory    program",
                          "1    5000001  ada   39.1 GiB  python", "1    5000002  -     29.8 GiB  -",
                          "5    5000003  -     62.4 GiB  -"));
}

TEST_F(WatchTable, LeavesOutColumnsThatDoNotFit) {
  const std::vector<std::string> titles[] = {
      {"GPU", "use", "GiB", "temp", "W", "state"}, {"GPU", "use", "GiB", "state"}, {"GPU"}};
  const int widths[] = {48, 30, 7};
  for (size_t i = 0; i < std::size(widths); ++i) {
    std::vector<std::string> lines = table(widths[i]), shown;
    std::istringstream words(lines[2]);
    for (std::string word; words >> word;) shown.push_back(word);
    EXPECT_EQ(shown, titles[i]) << widths[i];
    for (const std::string& line : lines) EXPECT_LE(line.size(), static_cast<size_t>(widths[i]));
  }
  EXPECT_EQ(table(1)[2], "G");
}

TEST_F(WatchTable, ShowsCoresWhereThereIsNoGpu) {
  sample.gpus = {.why_none = "no driver", .gpus = {}};
  EXPECT_THAT(table(80), ElementsAre(testing::_, "", "no GPU: no driver", "", "0: 25%     3: 75%"));
  EXPECT_THAT(table(20), ElementsAre(testing::_, "", "no GPU: no driver", "", "0: 25%", "3: 75%"));
}

TEST_F(WatchTable, IsALineADeviceInAFile) {
  std::vector<std::string> lines = watch_lines(sample, user);
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_EQ(lines[1],
            "2026-02-02T02:40:00Z GPU 1; name NVIDIA H100 80GB HBM3; use 98%; GiB 69.3/79.6; temp "
            "71C; W 690/700; MHz 1755/1980; slowed by power cap; state works; used by 5000001 ada "
            "39.1 GiB python; used by 5000002 - 29.8 GiB -");
  EXPECT_EQ(lines[8], "2026-02-02T02:40:00Z 2 cores 50% busy, memory 3.0/24.0 GiB");
}

TEST(RedrawnTable, ReplacesTheOneBefore) {
  RedrawnTable table;
  EXPECT_EQ(table.next({"a", "b"}, 24), "a\x1b[K\nb\x1b[K\n\x1b[J");
  EXPECT_EQ(table.next({"c"}, 24), "\x1b[2Ac\x1b[K\n\x1b[J");
  // Four rows: the last one is the cursor's.
  EXPECT_EQ(table.next({"1", "2", "3", "4", "5"}, 4),
            "\x1b[1A1\x1b[K\n2\x1b[K\n(3 lines more)\x1b[K\n\x1b[J");
  EXPECT_EQ(table.next({"d"}, 4), "\x1b[3Ad\x1b[K\n\x1b[J");
}

// Whoever starts a program on a GPU chooses its name.
TEST_F(WatchTable, ShowsNamesOfOthersWithoutTheirEscapes) {
  auto& processes = sample.gpus.gpus[1].processes;
  processes->at(0).name =
      "\x1b[2J\xc2\x9b"
      "0mpr\xc3\xbc"
      "fer";
  for (const std::string& line : table(140)) EXPECT_THAT(line, Not(HasSubstr("\x1b")));
  EXPECT_THAT(watch_lines(sample, user)[1], HasSubstr("39.1 GiB \\x1b[2J\\xc2\\x9b0mpr\xc3\xbc"
                                                      "fer;"));
}

TEST_F(WatchTable, CutsNoCharacterInTwo) {
  sample.gpus = {.why_none = "\xc3\xbc\xc3\xbc\xc3\xbc", .gpus = {}};
  EXPECT_EQ(table(9)[2], "no GPU: \xc3\xbc");
  EXPECT_EQ(table(10)[2], "no GPU: \xc3\xbc\xc3\xbc");
}

TEST(HostUse, IsTheShareOfTimeBetweenTwoReadings) {
  SystemFiles system;
  system.file("proc/meminfo", "MemTotal: 4096 kB\nMemAvailable: 1024 kB\n");
  system.file("proc/stat",
              "cpu  300 0 100 600 0 0 0 0 0 0\ncpu0 100 0 100 200 0 0 0 0 0 0\n"
              "cpu2 200 0 0 400 0 0 0 0 0 0\nintr 1\n");
  auto before = read_core_times(system.root());
  system.file("proc/stat",
              "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 110 5 105 260 20 0 0 0 0 0\n"
              "cpu1 9 0 0 9 0 0 0 0 0 0\ncpu2 300 0 0 400 0 0 0 0 0 0\nintr 1\n");  // 1: new
  HostUse use = use_since(before, read_core_times(system.root()), system.root());
  EXPECT_THAT(use.cores, ElementsAre(testing::Pair(0, 0.2), testing::Pair(2, 1.0)));
  EXPECT_EQ(use.memory_used, 3072u << 10);
  EXPECT_EQ(use.memory_total, 4096u << 10);
}

TEST(Watch, PrintsSamplesAndEnds) {
  ScriptedMachine machine(ScriptedMachine::eight_gpus());
  Output output = expect_success(trainer({"devices", "--watch", "0.1", "--count", "2"}));
  EXPECT_EQ(std::ranges::count(output.out, '\n'), 2 * 9);
  EXPECT_THAT(output.out, HasSubstr("GPU 3; name -; use -"));
  EXPECT_THAT(output.out, Not(HasSubstr("\x1b")));
}

TEST(Watch, EndsWithZeroOnCtrlC) {
  Program program({"devices", "--watch"});
  ASSERT_TRUE(program.wait_for("busy, memory"));
  program.signal(SIGINT);
  EXPECT_EQ(program.finish().code, 0);
}

TEST(Watch, RefusesBadIntervals) {
  for (const Words& words : {Words{"--watch", "0"}, Words{"--watch=soon"}, Words{"--count", "2"},
                             Words{"--watch", "--count", "0"}, Words{"--watch", "--probe"}})
    EXPECT_EQ(trainer(Words{"devices"} + words).code, 2) << words[0];
}

TEST(DeviceList, BeginsWithTheCpuAndItsMemory) {
  ListedDevice cpu = list_devices().front();
  EXPECT_EQ(cpu.id, "cpu");
  EXPECT_EQ(cpu.host_number, -1);
  EXPECT_THAT(cpu.name, HasSubstr(" core"));
  ASSERT_TRUE(cpu.memory_total && cpu.memory_used && cpu.memory_free);
  EXPECT_EQ(*cpu.memory_used + *cpu.memory_free, *cpu.memory_total);
  EXPECT_EQ(cpu.problem, "");
}

TEST(DeviceList, HasAllGpusOfTheHostAlsoHiddenAndLostOnes) {
  ScriptedMachine machine(ScriptedMachine::eight_gpus());
  std::vector<ListedDevice> devices = list_devices();
  ASSERT_EQ(devices.size(), 9u);
  const ListedDevice& busy = devices[2];
  EXPECT_EQ(busy.id, "");
  EXPECT_EQ(busy.host_number, 1);
  EXPECT_EQ(busy.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(busy.uuid, "GPU-22220000-0000-4000-8000-000000000002");
  EXPECT_EQ(busy.pci_bus_id, "0000:2a:00.0");
  constexpr uint64_t mib = 1 << 20;
  auto memory = machine.gpu(1)["memory_mib"];
  auto total = memory["total"].get<uint64_t>(), used = memory["used"].get<uint64_t>();
  EXPECT_EQ(busy.memory_total, total * mib);
  EXPECT_EQ(busy.memory_used, used * mib);
  EXPECT_EQ(busy.memory_free, (total - used - memory["reserved"].get<uint64_t>()) * mib);
  EXPECT_EQ(busy.utilization, 0.01 * machine.gpu(1)["compute_percent"].get<int>());
  EXPECT_EQ(busy.problem, "");
  EXPECT_THAT(devices[4], AllOf(Field(&ListedDevice::host_number, 3),
                                Field(&ListedDevice::problem, testing::Not(""))));
}

TEST(DeviceList, IsOfNow) {
  ScriptedMachine machine(ScriptedMachine::eight_gpus());
  machine.gpu(1)["memory_mib"]["used"] = 7;
  machine.write();
  EXPECT_EQ(list_devices()[2].memory_used, 7u << 20);
}

}  // namespace
}  // namespace spire
