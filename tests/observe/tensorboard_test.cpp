#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <sys/wait.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <protozero/pbf_message.hpp>

#include "engine/observe/json_files.h"
#include "engine/observe/tensorboard/tensorboard_files.h"
#include "tests/base/file_size_limit.h"
#include "tests/observe/reports.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// RFC 3720, appendix B.4.
TEST(Crc32c, GivesThePublishedValues) {
  std::string ascending, descending;
  for (char i = 0; i < 32; ++i) {
    ascending += i;
    descending += static_cast<char>(31 - i);
  }
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(crc32c(descending), 0x113fdb5cu);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

struct ReadEvent {
  double seconds = 0;
  int64_t step = 0;
  std::string version, text;
  bool begins = false;
  std::map<std::string, float> scalars;
};

template <typename Number>
Number number_at(std::string_view bytes, size_t offset) {
  Number number;
  std::memcpy(&number, bytes.substr(offset, sizeof number).data(), sizeof number);
  return number;
}

// Reads a field of a message within a message ..., by their numbers.
protozero::data_view inner(protozero::data_view message, std::initializer_list<uint32_t> path) {
  for (uint32_t field : path) {
    protozero::pbf_reader reader(message);
    EXPECT_TRUE(reader.next(field)) << field;
    message = reader.get_view();
  }
  return message;
}

void read_value(protozero::data_view view, ReadEvent& event) {
  std::string tag;
  protozero::pbf_reader value(view);
  while (value.next()) {
    if (value.tag() == 1) {
      tag = value.get_string();
    } else if (value.tag() == 2) {
      event.scalars[tag] = value.get_float();
    } else if (value.tag() == 8) {
      protozero::data_view text = inner(value.get_view(), {8});
      event.text = tag + ": " + std::string(text.data(), text.size());
    } else {
      EXPECT_EQ(value.tag(), 9u);
      EXPECT_EQ(inner(value.get_view(), {1, 1}).to_string(), "text");
    }
  }
}

ReadEvent read_event(std::string_view data) {
  ReadEvent event;
  protozero::pbf_reader fields(data.data(), data.size());
  while (fields.next()) {
    if (fields.tag() == 1) event.seconds = fields.get_double();
    if (fields.tag() == 2) event.step = fields.get_int64();
    if (fields.tag() == 3) event.version = fields.get_string();
    if (fields.tag() == 5) {
      protozero::pbf_reader summary(fields.get_view());
      while (summary.next(1)) read_value(summary.get_view(), event);
    }
    if (fields.tag() == 7) {
      protozero::pbf_reader log(fields.get_view());
      event.begins = log.next(1) && log.get_enum() == 1;
    }
  }
  return event;
}

// Checks the frames of a file and reads their events.
std::vector<ReadEvent> read_events(std::string_view bytes) {
  std::vector<ReadEvent> events;
  while (!bytes.empty()) {
    auto length = number_at<uint64_t>(bytes, 0);
    EXPECT_EQ(number_at<uint32_t>(bytes, 8), masked_crc32c(bytes.substr(0, 8)));
    std::string_view data = bytes.substr(12, length);
    EXPECT_EQ(number_at<uint32_t>(bytes, 12 + length), masked_crc32c(data));
    events.push_back(read_event(data));
    bytes.remove_prefix(16 + length);
  }
  return events;
}

TEST(EventRecords, ComeBackAsTheyWereWritten) {
  auto events = read_events(first_event(12.5) + session_event(13, 41) +
                            scalar_event(14, 42, {{"a/b", 0.25}, {"c", -1e30}}) +
                            text_event(15, 7, "config", "x: 1"));
  ASSERT_THAT(events, SizeIs(4));
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[0].seconds, 12.5);
  EXPECT_TRUE(events[1].begins);
  EXPECT_EQ(events[1].step, 41);
  EXPECT_EQ(events[2].step, 42);
  EXPECT_EQ(events[2].scalars, (std::map<std::string, float>{{"a/b", 0.25f}, {"c", -1e30f}}));
  EXPECT_EQ(events[3].text, "config: x: 1");
}

struct EventFolder {
  Folder scratch;
  std::filesystem::path folder = scratch / "tensorboard";
  ManualClock clock;
  std::vector<std::string> warnings;
  TensorBoardFiles::Warn warn = [this](std::string_view text) { warnings.emplace_back(text); };

  // The files in the order in which readers take them.
  std::set<std::filesystem::path> files() const {
    std::set<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      paths.insert(entry.path());
    return paths;
  }
};

// The same reports go to metrics.jsonl: both have the same tags and values.
TEST(TensorBoardFiles, HaveTheTagsOfMetricsJsonl) {
  EventFolder events;
  {
    TensorBoardFiles files(events.folder, "steps: 12\n", events.warn, events.clock.function());
    MetricsFile metrics(events.scratch / "metrics.jsonl", events.warn);
    for (Observer* observer : {static_cast<Observer*>(&files), static_cast<Observer*>(&metrics)}) {
      report_run(*observer, {});
      observer->on_end(sample_summary());
    }
  }
  ASSERT_THAT(events.files(), SizeIs(1));
  auto read = read_events(content_of(*events.files().begin()));
  std::ifstream lines(events.scratch / "metrics.jsonl");
  std::string line;
  ASSERT_THAT(read, SizeIs(6));
  EXPECT_EQ(read[2].text, "config: ```\nsteps: 12\n```\n");
  for (size_t i = 3; i < read.size(); ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    auto record = nlohmann::json::parse(line);
    while (record.contains("warning") && std::getline(lines, line))
      record = nlohmann::json::parse(line);
    EXPECT_EQ(record["step"], read[i].step);
    EXPECT_EQ(read[i].seconds, 1769860800);
    record.erase("time");
    record.erase("step");
    if (i > 3) record.erase("epoch");  // of an evaluation
    std::map<std::string, float> expected;
    for (const auto& [tag, value] : record.items()) expected[tag] = value.get<float>();
    EXPECT_EQ(read[i].scalars, expected);
  }
  EXPECT_FALSE(std::getline(lines, line));
  EXPECT_THAT(events.warnings, IsEmpty());
}

TEST(TensorBoardFiles, HaveDevicesAndNumbersThatAreNotFinite) {
  EventFolder events;
  {
    TensorBoardFiles files(events.folder, "", events.warn);
    files.on_start(gpu_start());
    StepReport step = sample_step();
    std::vector<DeviceReport> devices = gpu_reports();
    devices[0].celsius = {};
    devices[1].data_ms = 2.5;
    devices[1].lane_wait_ms = 1.5;
    devices[1].others_cores = 0.5;
    step.devices = devices;
    step.loss = std::nan("");
    files.on_step(step);
    step.record = false;
    files.on_step(step);
  }
  auto read = read_events(content_of(*events.files().begin()));
  ASSERT_THAT(read, SizeIs(4));
  EXPECT_TRUE(std::isnan(read[3].scalars.at("train/loss")));
  EXPECT_EQ(read[3].scalars.at("device/cuda:1/busy"), 0.75f);
  EXPECT_EQ(read[3].scalars.at("device/cuda:1/celsius"), 65);
  EXPECT_EQ(read[3].scalars.at("device/cuda:1/data_ms"), 2.5f);
  EXPECT_EQ(read[3].scalars.at("device/cuda:1/lane_wait_ms"), 1.5f);
  EXPECT_EQ(read[3].scalars.at("device/cuda:1/others_cores"), 0.5f);
  EXPECT_FALSE(read[3].scalars.contains("device/cuda:0/celsius"));
}

TEST(TensorBoardFiles, AResumedRunTakesBackLaterSteps) {
  EventFolder events;
  StartInfo start = gpu_start();
  for (int process = 0; process < 3; ++process) {
    TensorBoardFiles files(events.folder, "", events.warn, events.clock.function());
    files.on_start(start);
    files.on_step(sample_step(10));
    start.resumed_from = "step_00000005.h5";
    start.resumed_step = 5;
  }
  // All three began in the same second.
  ASSERT_THAT(events.files(), SizeIs(3));
  auto first = read_events(content_of(*events.files().begin()));
  auto last = read_events(content_of(*events.files().rbegin()));
  EXPECT_TRUE(first[1].begins);
  EXPECT_EQ(first[1].step, 1);
  EXPECT_TRUE(last[1].begins);
  EXPECT_EQ(last[1].step, 6);
}

TEST(TensorBoardFiles, ALostFileWarnsOnceAndLosesNothingOfTheRun) {
  EventFolder events;
  TensorBoardFiles files(events.folder, "", events.warn);
  files.on_start(gpu_start());
  std::filesystem::remove_all(events.folder);
  for (int step = 1; step < 4; ++step) files.on_step(sample_step(step));
  files.on_end(sample_summary());
  ASSERT_THAT(events.warnings, SizeIs(1));
  EXPECT_THAT(events.warnings[0], HasSubstr("it was removed or replaced; TensorBoard lacks these"));
  EXPECT_EQ(files.lost(), "");
}

TEST(TensorBoardFiles, AFullDiskLeavesWholeFrames) {
  EventFolder events;
  std::filesystem::create_directory(events.folder);
  std::string frame = scalar_event(1, 1, {{"a", 1}});
  EventFile file(events.folder, wall_time());
  {
    FileSizeLimit limit(frame.size() * 5 / 2);
    EXPECT_EQ(file.append(frame), "");
    EXPECT_NE(file.append(frame + frame), "");
  }
  EXPECT_THAT(read_events(content_of(file.path())), SizeIs(1));
  EXPECT_EQ(file.append(frame), "");
  EXPECT_THAT(read_events(content_of(file.path())), SizeIs(2));
}

// Names are sorted as text, so that none of ten digits is behind the last of these, or one of more.
TEST(EventFiles, FollowTimesOfTenDigits) {
  const std::map<std::string, std::string> times = {{"1700000005", "1700000006"},
                                                    {"9999999998", "9999999999"},
                                                    {"9999999999", "1700000000"},
                                                    {"99999999999", "1700000000"},
                                                    {"9223372036854775807", "1700000000"}};
  for (const auto& [there, expected] : times) {
    EventFolder events;
    std::filesystem::create_directory(events.folder);
    std::ofstream(events.folder / ("events.out.tfevents." + there)) << "";
    EventFile file(events.folder, EventFile::Time(std::chrono::seconds(1'700'000'000)));
    EXPECT_THAT(file.path().filename().string(), HasSubstr("tfevents." + expected + "."));
  }
}

TEST(EventFiles, OfThisProcessAreKnownByTheirNames) {
  EventFolder events;
  std::filesystem::create_directory(events.folder);
  EventFile file(events.folder, wall_time());
  std::string own = file.path().filename();
  for (const std::string& other : {own + "0", own + ".v2", "a" + own, std::string("notes.txt")})
    std::ofstream(events.folder / other) << "mine";
  EXPECT_THAT(event_files_of_this_process(events.folder), testing::ElementsAre(own));
  EXPECT_THAT(event_files_of_this_process(events.scratch / "missing"), testing::IsEmpty());
}

TEST(TensorBoardFiles, AFolderThatCannotBeMadeWarnsOnce) {
  EventFolder events;
  std::ofstream(events.folder) << "a file";
  TensorBoardFiles files(events.folder, "", events.warn);
  report_run(files, gpu_reports());
  files.on_end(sample_summary());
  ASSERT_THAT(events.warnings, SizeIs(1));
  EXPECT_THAT(events.warnings[0], HasSubstr("cannot create the folder " + events.folder.string()));
  EXPECT_THAT(events.warnings[0], HasSubstr("the run goes on without TensorBoard"));
  EXPECT_EQ(files.lost(), "");
}

TEST(TensorBoardFiles, ADiskThatIsFullAtTheStartWarnsOnce) {
  EventFolder events;
  TensorBoardFiles files(events.folder, "steps: 12\n", events.warn);
  {
    FileSizeLimit limit(10);
    report_run(files, gpu_reports());
    files.on_end(sample_summary());
  }
  ASSERT_THAT(events.warnings, SizeIs(1));
  EXPECT_THAT(events.warnings[0], HasSubstr("cannot write " + events.folder.string()));
  EXPECT_EQ(files.lost(), "");
}

constexpr int no_package = 77;

// Writes steps first to last as a process of a run does.
void write_steps(const std::filesystem::path& folder, int64_t first, int64_t last, double loss) {
  TensorBoardFiles files(folder, "steps: 12\n",
                         [](std::string_view text) { ADD_FAILURE() << text; });
  StartInfo start = gpu_start();
  if (first > 1) start.resumed_from = "step.h5";
  start.resumed_step = first - 1;
  files.on_start(start);
  std::vector<DeviceReport> devices = gpu_reports();
  for (int64_t number = first; number <= last; ++number) {
    StepReport step = sample_step(number);
    step.loss = loss;
    step.devices = devices;
    files.on_step(step);
  }
  files.on_eval(sample_eval(last));
}

TEST(TensorBoard, ReadsARunThatWasResumed) {
  Folder scratch;
  std::filesystem::path folder = scratch / "tensorboard", out = scratch / "out.json";
  write_steps(folder, 1, 10, 0.5);
  write_steps(folder, 6, 12, 0.25);  // from a checkpoint of step 5
  const char* given = std::getenv("TENSORBOARD_PYTHON");
  std::string command = std::string(given ? given : "python3") +
                        " " SPIRE_ROOT "/tests/observe/read_events.py " + folder.string() + " > " +
                        out.string();
  int status = std::system((command + " 2> " + (scratch / "err").string()).c_str());
  if (WEXITSTATUS(status) == no_package) GTEST_SKIP() << "Python has no package tensorboard here";
  ASSERT_EQ(status, 0) << content_of(scratch / "err");
  auto found = nlohmann::json::parse(content_of(out));
  auto& loss = found["scalars"]["train/loss"];
  ASSERT_EQ(loss.size(), 12u);
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(loss[i], nlohmann::json({i + 1, i < 5 ? 0.5 : 0.25}));
  // Of the evaluation at step 10 nothing is left, as the resumed run went back behind it.
  ASSERT_EQ(found["scalars"]["val/accuracy"].size(), 1u);
  EXPECT_EQ(found["scalars"]["val/accuracy"][0][0], 12);
  EXPECT_EQ(found["scalars"]["device/cuda:1/arrival_ms"][0][1], 25);
  EXPECT_NE(found["texts"]["config"].get<std::string>().find("steps: 12"), std::string::npos);
}

}  // namespace
}  // namespace spire
