// The system refuses one call of a short run: each call in turn, by default only three of each
// kind. Whatever it is, the program ends in time with a code and a message that the documentation
// knows, files that it did not write are as they were, and the same command, given again, comes to
// the undisturbed end.
#include "tests/run/program/failing_calls.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/random_stream.h>

#include "tests/long_tests.h"
#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr auto test_bound =
    std::chrono::seconds(60);  // a hang; checkpoints are tried again in less

// What no run wrote: path and content of the data, and of notes that a person put beside a run.
std::map<std::string, std::string> files_of_user(const RunFolder& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "")) {
    bool data = entry.path().parent_path() == folder / "data";
    if (data || entry.path().filename() == "notes.txt")
      files[entry.path()] = content_of(entry.path());
  }
  return files;
}

// Something a person does with the trainer, that can be given again after it failed.
struct Command {
  const char* name;
  std::function<void(const RunFolder&)> prepare;
  std::function<Words(const RunFolder&)> words, again;
  std::function<std::string(const RunFolder&)> result;  // what is equal, disturbed or not
};

Words run(const RunFolder& folder, const Words& more) {
  return folder.run(
      "run",
      test_mlp + Words{"towers=2", "data.workers=1", "steps=4", "checkpoint.every_steps=2"} + more);
}

Words predict(const RunFolder& folder, const Words& more) {
  return Words{"predict", "--checkpoint", folder.checkpoint("run", 4), "--to", folder / "out.csv"} +
         more;
}

Words convert(const RunFolder& folder, const Words& more) {
  return Words{"dataset",       "convert",
               "data.name=idx", "data.path=" + (folder / "data").string(),
               "--to",          folder / "converted.h5"} +
         more;
}

void begun(const RunFolder& folder) {
  Output output = trainer(run(folder, {"steps=2"}));
  ASSERT_EQ(output.code, 0) << output.err;
  std::ofstream(folder / "run/notes.txt") << "mine";
  std::ofstream(folder / "run/checkpoints/notes.txt") << "mine";
}

void trained(const RunFolder& folder) {
  Output output = trainer(run(folder, {}));
  ASSERT_EQ(output.code, 0) << output.err;
}

// Not from stdout, to which the refused call may have been.
std::string hash(const RunFolder& folder) {
  return folder.summary("run").at("parameter_hash");
}

const std::vector<Command> commands = {
    {"Train", [](const RunFolder&) {}, [](const RunFolder& f) { return run(f, {}); },
     [](const RunFolder& f) {
       return run(f, {"--resume", "auto"});
     },
     hash},
    {"Resume", begun,
     [](const RunFolder& f) {
       return run(f, {"--resume", "auto"});
     },
     [](const RunFolder& f) {
       return run(f, {"--resume", "auto"});
     },
     hash},
    {"Processes", [](const RunFolder&) {},
     [](const RunFolder& f) {
       return run(f, {"--processes", "2"});
     },
     [](const RunFolder& f) {
       return run(f, {"--processes", "2", "--resume", "auto"});
     },
     hash},
    {"Predict", trained, [](const RunFolder& f) { return predict(f, {}); },
     [](const RunFolder& f) { return predict(f, {"--overwrite"}); },
     [](const RunFolder& f) { return content_of(f / "out.csv"); }},
    {"Convert", [](const RunFolder&) {}, [](const RunFolder& f) { return convert(f, {}); },
     [](const RunFolder& f) { return convert(f, {"--overwrite"}); },
     [](const RunFolder& f) { return content_of(f / "converted.h5"); }},
};

struct SystemError {
  int number;
  const char* name;
};

struct Refused {
  const Command* command;
  Call call;
  std::vector<SystemError> errors;
  friend std::ostream& operator<<(std::ostream& out, const Refused& refused) {
    return out << refused.command->name << "_" << call_names[static_cast<size_t>(refused.call)];
  }
};

std::vector<Refused> every_refusal() {
  const SystemError io{EIO, "EIO"}, full{ENOSPC, "ENOSPC"}, files{EMFILE, "EMFILE"},
      again{EAGAIN, "EAGAIN"};
  const std::vector<std::pair<Call, std::vector<SystemError>>> calls = {
      {Call::open, {io, files, full}}, {Call::read, {io, again}},  {Call::write, {io, full, again}},
      {Call::fsync, {io, full}},       {Call::rename, {io, full}}, {Call::mkdir, {io, full}},
      {Call::opendir, {io, files}},    {Call::readdir, {io}},      {Call::socket, {files}},
      {Call::accept, {files, again}},  {Call::thread, {again}}};
  std::vector<Refused> all;
  for (const Command& command : commands)
    for (const auto& [call, errors] : calls) all.push_back({&command, call, errors});
  return all;
}

// What the command finds, again and again.
class Scene {
 public:
  explicit Scene(const Command& command) {
    command.prepare(folder_);
    if (fs::exists(folder_ / "run"))
      fs::copy(folder_ / "run", folder_ / "kept", fs::copy_options::recursive);
  }
  const RunFolder& set() {
    for (const auto& entry : fs::directory_iterator(folder_ / ""))
      if (entry.path() != folder_ / "data" && entry.path() != folder_ / "kept")
        fs::remove_all(entry.path());
    if (fs::exists(folder_ / "kept"))
      fs::copy(folder_ / "kept", folder_ / "run", fs::copy_options::recursive);
    return folder_;
  }

 private:
  RunFolder folder_;
};

class FailingCalls : public testing::TestWithParam<Refused> {
 protected:
  // The words as a program with failing_calls.cpp preloaded; `refusal` may be empty.
  Words preloaded(const std::string& refusal, const Words& words) {
    std::string zeros(test_calls * sizeof(uint64_t), '\0');
    std::ofstream(counters_.path(), std::ios::binary) << zeros;
    return Words{"LD_PRELOAD=" FAILING_CALLS_LIBRARY, "SPIRE_TEST_CALLS=" + counters_.path(),
                 "SPIRE_TEST_FAIL=" + refusal, TRAINER_PROGRAM} +
           words;
  }
  void try_one(Scene& scene, uint64_t n, const SystemError& error, const std::string& expected);
  uint64_t counted(Call call) const {
    std::string bytes = content_of(counters_.path());
    uint64_t count = 0;
    size_t at = static_cast<size_t>(call) * sizeof count;
    if (bytes.size() >= at + sizeof count) std::memcpy(&count, bytes.data() + at, sizeof count);
    return count;
  }

 private:
  class File {
   public:
    std::string path() const { return folder_ / "counters"; }

   private:
    WorkFolder folder_;
  };
  File counters_;
};

void expect_documented(const Output& output) {
  EXPECT_THAT(output.code, AnyOf(0, 2, 3, 4, 5, 8, 75)) << output.err;
  if (output.code == 0) return;
  // Of several processes another may have the last word.
  EXPECT_THAT(output.last_error_line(), StartsWith("error[")) << output.err;
  EXPECT_THAT("\n" + output.err, HasSubstr("\nerror[" + std::to_string(output.code) + "]: "));
}

void FailingCalls::try_one(Scene& scene, uint64_t n, const SystemError& error,
                           const std::string& expected) {
  const Command& command = *GetParam().command;
  const char* name = call_names[static_cast<size_t>(GetParam().call)];
  SCOPED_TRACE(std::string(name) + " " + std::to_string(n) + ": " + error.name);
  const RunFolder& folder = scene.set();
  auto users = files_of_user(folder);
  std::string refusal =
      std::string(name) + ":" + std::to_string(error.number) + ":" + std::to_string(n);
  Program program("/usr/bin/env", preloaded(refusal, command.words(folder)));
  EXPECT_TRUE(program.ends_by(Clock::now() + test_bound)) << "hangs";
  program.signal(SIGKILL);
  Output output = program.finish();
  expect_documented(output);
  if (output.code == 0) {
    EXPECT_EQ(command.result(folder), expected) << output.err;
  }
  Output again = trainer(command.again(folder));
  EXPECT_EQ(again.code, 0) << again.err << "after\n" << output.err;
  EXPECT_EQ(command.result(folder), expected) << again.err;
  for (const auto& [path, content] : users) EXPECT_EQ(content_of(path), content) << path;
}

// The calls to refuse, counted from 1: all of them, or three at random, one in each third of the
// run.
std::vector<uint64_t> refused_calls(uint64_t calls) {
  uint64_t count = long_tests() ? calls : std::min<uint64_t>(calls, 3);
  RandomStream random(calls, Purpose::initialize);
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < count; ++i)
    numbers.push_back(1 + (i * calls + random.below(i, static_cast<uint32_t>(calls))) / count);
  return numbers;
}

// All errors at each call where SPIRE_TEST_ALL_ERRORS is set; else one of them, in turn.
TEST_P(FailingCalls, EndAsDocumentedAndGoOnToTheSameResult) {
  const Refused& refused = GetParam();
  const Command& command = *refused.command;
  Scene scene(command);
  const RunFolder& folder = scene.set();
  Output undisturbed = Program("/usr/bin/env", preloaded("", command.words(folder))).finish();
  ASSERT_EQ(undisturbed.code, 0) << undisturbed.err;
  std::string expected = command.result(folder);
  uint64_t calls = counted(refused.call);
  bool all = std::getenv("SPIRE_TEST_ALL_ERRORS") != nullptr;
  for (uint64_t n : refused_calls(calls)) {
    for (size_t i = 0; i < refused.errors.size(); ++i) {
      if (!all && i != n % refused.errors.size()) continue;
      try_one(scene, n, refused.errors[i], expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, FailingCalls, testing::ValuesIn(every_refusal()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace spire
