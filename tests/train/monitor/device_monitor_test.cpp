// The monitor's thread and its readers: on scripted GPUs, on made-up files of the system, and with
// readers that fail.
#include "engine/train/monitor/device_monitor.h"

#include <atomic>
#include <functional>
#include <stdexcept>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/device/system_files.h"
#include "tests/scripted_nvml/scripted_machine.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t mib = 1 << 20;

// Counts its readings in `busy`; the others' test says what else it does.
class MadeReader : public DeviceReader {
 public:
  explicit MadeReader(std::function<void(int, std::vector<std::string>&)> also)
      : also_(std::move(also)) {}
  void read(std::span<DeviceNumbers> numbers, std::vector<std::string>& problems) override {
    ++count_;
    for (DeviceNumbers& device : numbers) number_of(DeviceNumber::busy, device) = count_;
    also_(count_, problems);
  }

 private:
  const std::function<void(int, std::vector<std::string>&)> also_;
  int count_ = 0;
};

std::unique_ptr<DeviceMonitor> monitor_of(
    size_t devices, std::function<void(int, std::vector<std::string>&)> also) {
  return std::make_unique<DeviceMonitor>(std::make_unique<MadeReader>(std::move(also)), devices,
                                         MonitorOptions{.every_seconds = 1e-4});
}

TEST(DeviceMonitor, GivesTheNewestReadingAndLeavesTheStepsNumbers) {
  std::atomic<bool> hold = true;
  auto monitor = monitor_of(2, [&](int count, auto&) {
    if (count == 4) hold.wait(true);  // three readings are complete
  });
  monitor->await_readings(3);
  std::vector<double> numbers(2 * device_numbers, unknown_number);
  for (size_t d : {0, 1}) {
    std::span<double> own = std::span(numbers).subspan(d * device_numbers);
    number_of(DeviceNumber::arrival_ms, own) = 100.0 + static_cast<double>(d);
    number_of(DeviceNumber::data_ms, own) = 7;
    number_of(DeviceNumber::lane_wait_ms, own) = 8;
  }
  monitor->copy_to(numbers);
  DeviceReports reports(2);
  auto both = reports.read(numbers);
  EXPECT_EQ(both[0].busy, 3);
  EXPECT_EQ(both[1].busy, 3);
  EXPECT_EQ(both[0].arrival_ms, 100);
  EXPECT_EQ(both[1].arrival_ms, 101);
  EXPECT_EQ(both[1].data_ms, 7);
  EXPECT_EQ(both[1].lane_wait_ms, 8);
  hold = false;
  hold.notify_all();
}

TEST(DeviceMonitor, TellsProblemsOnce) {
  auto monitor = monitor_of(1, [](int count, auto& problems) {
    if (count == 2) problems.emplace_back("it smokes");
  });
  monitor->await_readings(3);
  std::vector<std::string> problems;
  while (problems.empty()) problems = monitor->take_problems();  // the thread may hold them
  EXPECT_THAT(problems, ElementsAre("it smokes"));
  EXPECT_THAT(monitor->take_problems(), IsEmpty());
}

// A driver that hangs: what was read before is not taken for the present, and the run can end.
TEST(DeviceMonitor, AReadingThatNeverReturnsHoldsNothing) {
  auto hangs = std::make_shared<std::atomic<bool>>(true);
  auto reader = std::make_unique<MadeReader>([hangs](int count, auto&) {
    if (count == 2) hangs->wait(true);
  });
  auto monitor = std::make_unique<DeviceMonitor>(
      std::move(reader), 1,
      MonitorOptions{.every_seconds = 1e-4, .longest_age = 0, .patience = 0.01});
  monitor->await_readings(1);
  std::vector<std::string> problems;
  while (problems.empty()) problems = monitor->take_problems();
  EXPECT_THAT(problems, ElementsAre(HasSubstr("have not answered for a while")));
  DeviceNumbers numbers = unknown_numbers;
  monitor->copy_to(numbers);
  DeviceReports reports(1);
  EXPECT_FALSE(reports.read(numbers)[0].busy);
  monitor.reset();
  *hangs = false;
  hangs->notify_all();
}

TEST(DeviceMonitor, AReaderThatThrowsEndsTheReadingsAlone) {
  auto monitor = monitor_of(1, [](int count, auto&) {
    if (count == 2) throw std::runtime_error("no more memory");
  });
  monitor->await_readings(2);
  std::vector<std::string> problems;
  while (problems.empty()) problems = monitor->take_problems();
  EXPECT_THAT(problems, ElementsAre("the devices are no longer watched: no more memory"));
  DeviceNumbers numbers = unknown_numbers;
  monitor->copy_to(numbers);
  DeviceReports reports(1);
  EXPECT_FALSE(reports.read(numbers)[0].busy);
}

// Steps read while the thread writes: each sees whole readings, and none that is older.
TEST(DeviceMonitor, ReadingsAreWholeAndInOrder) {
  auto monitor = monitor_of(8, [](int, auto&) {});
  DeviceNumbers none = unknown_numbers;
  number_of(DeviceNumber::busy, none) = 0;
  std::vector<double> numbers;
  for (int d = 0; d < 8; ++d) numbers.insert(numbers.end(), none.begin(), none.end());
  DeviceReports reports(8);
  for (double last = 0; last < 200;) {
    monitor->copy_to(numbers);
    auto all = reports.read(numbers);
    for (const DeviceReport& device : all) ASSERT_EQ(device.busy, all[0].busy);
    ASSERT_GE(all[0].busy, last);
    last = *all[0].busy;
  }
}

TEST(DeviceMonitor, EndsInTheMiddleOfItsPause) {
  DeviceMonitor monitor(std::make_unique<MadeReader>([](int, auto&) {}), 1, {.every_seconds = 1e6});
  monitor.await_readings(1);
}

// A GPU of the scripted machine, by its PCI bus id in CUDA's form.
WatchedDevice gpu(int index, std::string pci, std::string uuid = "") {
  return {.id = {DeviceKind::cuda, index}, .pci_bus_id = std::move(pci), .uuid = std::move(uuid)};
}

// Reads the devices once.
std::vector<DeviceReport> read_once(DeviceReader& reader, size_t devices,
                                    std::vector<std::string>& problems) {
  std::vector<DeviceNumbers> numbers(devices, unknown_numbers);
  reader.read(numbers, problems);
  std::vector<double> all;
  for (const DeviceNumbers& device : numbers) all.insert(all.end(), device.begin(), device.end());
  DeviceReports reports(devices);
  auto read = reports.read(all);
  return {read.begin(), read.end()};
}

TEST(GpuReader, FindsTheRunsGpusByTheirAddress) {
  ScriptedMachine machine(ScriptedMachine::eight_gpus());
  auto reader = make_gpu_reader(
      {gpu(0, "0000:AB:00.0"), gpu(1, "0000:2A:00.0"),
       gpu(2, "0000:3A:00.0", "MIG-bbbb0000-0000-4000-8000-00000000000b"), gpu(3, "0000:FF:00.0")},
      "");
  std::vector<std::string> problems;
  auto reports = read_once(*reader, 4, problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_DOUBLE_EQ(reports[0].busy.value(), 0.87);
  EXPECT_EQ(reports[0].memory_used, 64123 * mib);
  EXPECT_EQ(reports[0].celsius, 89);
  EXPECT_EQ(reports[0].clock_mhz, 1095);
  EXPECT_EQ(reports[0].max_clock_mhz, 1410);
  EXPECT_THAT(reports[0].throttle_reasons,
              ElementsAre("hardware slowdown", "heat", "heat (hardware)"));
  EXPECT_DOUBLE_EQ(reports[1].busy.value(), 0.98);
  EXPECT_THAT(reports[1].throttle_reasons, ElementsAre("power cap"));
  // Of a MIG device the driver tells the memory, and no utilisation.
  EXPECT_EQ(reports[2].memory_total, 40448 * mib);
  EXPECT_FALSE(reports[2].busy);
  EXPECT_FALSE(reports[3].memory_total);  // the driver does not list it
}

TEST(GpuReader, AGpuThatIsLostMeanwhileHasNoReadingsAndOneProblem) {
  ScriptedMachine machine(ScriptedMachine::eight_gpus());
  auto reader =
      make_gpu_reader({gpu(0, "0000:18:00.0"), gpu(1, "0000:2A:00.0"), gpu(1, "0000:2A:00.0")}, "");
  std::vector<std::string> problems;
  EXPECT_TRUE(read_once(*reader, 3, problems)[2].busy);  // a second logical device on GPU 1
  machine.gpu(1)["lost"] = true;
  machine.gpu(1)["xids"] = {79};
  machine.write();
  for (int reading = 0; reading < 3; ++reading) {
    auto reports = read_once(*reader, 3, problems);
    EXPECT_TRUE(reports[0].memory_used);
    EXPECT_FALSE(reports[1].busy || reports[1].memory_used || reports[1].clock_mhz);
    EXPECT_EQ(reports[1].last_xid, 79);
  }
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0], HasSubstr("cuda:1 cannot be watched: GPU 1 fell off the bus"));
}

TEST(GpuReader, AFailingGpuKeepsTheValuesThatItTells) {
  ScriptedMachine machine(ScriptedMachine::eight_gpus());
  machine.gpu(1)["returns"] = {{"nvmlDeviceGetPowerUsage", 999}};
  machine.write();
  auto reader = make_gpu_reader({gpu(1, "0000:2A:00.0")}, "");
  std::vector<std::string> problems;
  auto reports = read_once(*reader, 1, problems);
  EXPECT_FALSE(reports[0].watts);
  EXPECT_EQ(reports[0].celsius, 71);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0], HasSubstr("nvmlDeviceGetPowerUsage"));
}

TEST(GpuReader, WithoutADriverNothingIsKnown) {
  auto reader = make_gpu_reader({gpu(0, "0000:18:00.0")}, "/nowhere/libnvidia-ml.so.1");
  std::vector<std::string> problems;
  EXPECT_FALSE(read_once(*reader, 1, problems)[0].memory_used);
  EXPECT_THAT(problems, IsEmpty());
}

TEST(CpuReader, ReadsMemoryClockAndHeat) {
  SystemFiles files;
  auto core = [&](int mhz, int heat) {
    std::string folder = "sys/devices/system/cpu/cpu1/";
    files.file(folder + "cpufreq/scaling_cur_freq", std::to_string(1000 * mhz))
        .file(folder + "cpufreq/cpuinfo_max_freq", "3000000")
        .file(folder + "thermal_throttle/core_throttle_count", std::to_string(heat));
  };
  files.file("proc/self/statm", "1000 300 40 1 0 200 0");
  core(2500, 5);
  auto reader = make_cpu_reader(
      {{.id = {}, .thread_names = {"lane 0"}, .threads = 1, .cores = {1}}}, files.root());
  std::vector<std::string> problems;
  DeviceReport first = read_once(*reader, 1, problems)[0];
  EXPECT_EQ(first.memory_used, 300u * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(first.clock_mhz, 2500);
  EXPECT_EQ(first.max_clock_mhz, 3000);
  EXPECT_FALSE(first.busy);  // that takes two readings
  EXPECT_THAT(first.throttle_reasons, IsEmpty());
  core(1200, 6);
  DeviceReport second = read_once(*reader, 1, problems)[0];
  EXPECT_EQ(second.clock_mhz, 1200);
  EXPECT_THAT(second.throttle_reasons, ElementsAre("heat"));
  EXPECT_EQ(second.busy, 0);
  EXPECT_THAT(problems, IsEmpty());
}

// Two threads may use 2 s of CPU time a second; more than that is an error of reading.
// Two threads could have had 4 s in 2 s; they have had 1.5 and 0.5.
TEST(CpuReader, BusyIsTheShareOfTheTimeThatItsThreadsCouldHaveHad) {
  SystemFiles files;
  auto per_second = sysconf(_SC_CLK_TCK);
  auto ticks = [&](int task, const char* name, double user, double system) {
    files.file(fmt::format("proc/self/task/{}/stat", task),
               fmt::format("{} ({}) S 1 2 3 4 5 6 7 8 9 10 {:.0f} {:.0f} 0 0", task, name,
                           user * static_cast<double>(per_second),
                           system * static_cast<double>(per_second)));
  };
  double time = 100;
  auto reader =
      make_cpu_reader({{.id = {}, .thread_names = {"lane 0", "lane 1"}, .threads = 2, .cores = {}}},
                      files.root(), [&] { return time; });
  std::vector<std::string> problems;
  ticks(7, "lane 0", 10, 0);
  ticks(8, "lane 1", 20, 0);
  ticks(9, "reader", 30, 0);
  EXPECT_FALSE(read_once(*reader, 1, problems)[0].busy);
  time += 2;
  ticks(7, "lane 0", 11, 0.5);
  ticks(8, "lane 1", 20.25, 0.25);
  ticks(9, "reader", 32, 0);
  EXPECT_DOUBLE_EQ(read_once(*reader, 1, problems)[0].busy.value(), 0.5);
}

// On the cores of both devices, each once.
TEST(CpuReader, TellsWhatOthersUse) {
  SystemFiles files;
  auto count = [&](int busy, int idle, int own) {
    std::string core = fmt::format("{} 0 0 {} 0 0 0 0", busy, idle);
    files.file("proc/stat", fmt::format("cpu 0\ncpu0 {}\ncpu1 {}\n", core, core))
        .file("proc/self/stat", fmt::format("7 (a) S 1 2 3 4 5 6 7 8 9 10 {} 0 0 0", own));
  };
  count(0, 0, 0);
  auto reader = make_cpu_reader(
      {{.id = {}, .threads = 1, .cores = {0, 1}}, {.id = {}, .threads = 1, .cores = {0, 1}}},
      files.root());
  std::vector<std::string> problems;
  EXPECT_FALSE(read_once(*reader, 2, problems)[0].others_cores);
  count(90, 10, 60);
  std::vector<DeviceReport> reports = read_once(*reader, 2, problems);
  EXPECT_DOUBLE_EQ(reports[0].others_cores.value(), 1.2);
  EXPECT_EQ(reports[1].others_cores, reports[0].others_cores);
}

TEST(CpuReader, ThreadsThatEndOrCountTwiceStayWithinTheirShare) {
  SystemFiles files;
  auto ticks = [&](int count) {
    files.file("proc/self/task/7/stat",
               fmt::format("7 (lane 0) S 1 2 3 4 5 6 7 8 9 10 {} 0 0 0", count));
  };
  auto reader = make_cpu_reader(
      {{.id = {}, .thread_names = {"lane 0", "lane 1"}, .threads = 2, .cores = {}}}, files.root());
  std::vector<std::string> problems;
  ticks(100);
  read_once(*reader, 1, problems);
  ticks(1'000'000);
  EXPECT_EQ(read_once(*reader, 1, problems)[0].busy, 1);
  ticks(50);
  EXPECT_EQ(read_once(*reader, 1, problems)[0].busy, 0);
}

}  // namespace
}  // namespace spire
