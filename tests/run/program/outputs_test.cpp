// What the trainer writes to and reads from, where a name stands for something else than a file of
// its own, or comes to while it runs. Nothing hangs, and nothing of others is lost.
#include <csignal>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

unsigned mode_of(const fs::path& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777u : 0;
}

// Of a program that has to end by itself.
Output output_of(Program& program) {
  if (!program.ends_by(std::chrono::steady_clock::now() + std::chrono::minutes(2))) {
    ADD_FAILURE() << "it hangs";
    program.signal(SIGKILL);
  }
  return program.finish();
}

Output ends(const Words& words) {
  Program program(words);
  return output_of(program);
}

class Outputs : public testing::Test {
 protected:
  void SetUp() override {
    Output trained = ends(folder_.run("run", test_mlp + Words{"steps=4"}));
    ASSERT_EQ(trained.code, 0) << trained.err;
    checkpoint_ = folder_.checkpoint("run", 4);
    expected_ = ends(predict({})).out;
    std::ofstream(folder_ / "notes") << "notes";
  }
  Words predict(const Words& more) const {
    return Words{"predict", "--checkpoint", checkpoint_.string(), "--count", "3"} + more;
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // Exit code 2, and the words in the message.
  void expect_refused(const Words& words, const std::string& message) const {
    Output output = ends(predict(words));
    EXPECT_EQ(output.code, 2) << output.err;
    EXPECT_EQ(output.out, "");
    EXPECT_THAT(output.last_error_line(), HasSubstr(message));
  }
  void expect_written(const Words& words, const fs::path& where) const {
    Output output = ends(predict(words));
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_EQ(content_of(where), expected_);
  }

  RunFolder folder_;
  fs::path checkpoint_;
  std::string expected_;
};

TEST_F(Outputs, AFileThatHoldsSomethingIsReplacedOnlyWhenAskedAndKeepsItsMode) {
  expect_written({"--to", path("new")}, folder_ / "new");
  std::ofstream(folder_ / "empty").close();
  fs::permissions(folder_ / "empty", fs::perms(0600));
  expect_written({"--to", path("empty")}, folder_ / "empty");
  EXPECT_EQ(mode_of(folder_ / "empty"), 0600u);
  fs::permissions(folder_ / "notes", fs::perms(0640));
  expect_refused({"--to", path("notes")}, "notes: is there already; name another file, or give");
  EXPECT_EQ(content_of(folder_ / "notes"), "notes");
  expect_written({"--to", path("notes"), "--overwrite"}, folder_ / "notes");
  EXPECT_EQ(mode_of(folder_ / "notes"), 0640u);
}

TEST_F(Outputs, LinksAreFollowed) {
  fs::create_symlink("notes", folder_ / "link");
  fs::create_symlink("link", folder_ / "second");
  expect_refused({"--to", path("second")}, "notes: is there already");
  expect_written({"--to", path("second"), "--overwrite"}, folder_ / "notes");
  EXPECT_TRUE(fs::is_symlink(folder_ / "second") && fs::is_symlink(folder_ / "link"));
  fs::create_symlink("nowhere", folder_ / "dangling");
  expect_refused({"--to", path("dangling"), "--overwrite"}, "which is not there");
  fs::create_symlink("round", folder_ / "round");
  expect_refused({"--to", path("round"), "--overwrite"}, "--to");
  EXPECT_TRUE(fs::is_symlink(folder_ / "dangling"));
}

TEST_F(Outputs, StreamsTakeTheTextAndStayWhatTheyAre) {
  EXPECT_EQ(ends(predict({"--to", "/dev/stdout"})).out, expected_);
  EXPECT_EQ(ends(predict({"--to", "/dev/fd/1"})).out, expected_);
  EXPECT_EQ(ends(predict({"--to", "/dev/null"})).code, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  expect_refused({"--to", path("pipe")}, "is a FIFO that nobody reads");
  expect_refused({"--to", path("pipe"), "--overwrite"}, "is a FIFO that nobody reads");
  expect_refused({"--to", path("data"), "--overwrite"}, "is a folder; name a file");
  EXPECT_TRUE(fs::is_fifo(folder_ / "pipe"));
}

// Of a pipe's reader that is this process: the bytes that wait in it.
class PipeReader {
 public:
  explicit PipeReader(const fs::path& path) {
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    pipe_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }
  ~PipeReader() { ::close(pipe_); }
  PipeReader(const PipeReader&) = delete;
  PipeReader& operator=(const PipeReader&) = delete;

  size_t waiting() const {
    int bytes = 0;
    return ::ioctl(pipe_, FIONREAD, &bytes) == 0 ? static_cast<size_t>(bytes) : 0;
  }
  std::string read() const {
    std::string text(waiting(), '\0');
    return ::read(pipe_, text.data(), text.size()) == std::ssize(text) ? text : "";
  }

 private:
  int pipe_ = -1;
};

TEST_F(Outputs, APipeIsWrittenAndASignalEndsTheWaitForItsReader) {
  PipeReader reader(folder_ / "pipe");
  EXPECT_EQ(ends(predict({"--to", path("pipe")})).code, 0);
  EXPECT_EQ(reader.read(), expected_);

  Words words = {"predict", "--checkpoint", checkpoint_.string(), "--to", path("pipe")};
  for (int i = 0; i < 8; ++i)  // 2400 rows: more than a pipe holds
    words.push_back(path("data/train-images-idx3-ubyte"));
  Program waits(words);
  while (reader.waiting() < 60'000) ASSERT_FALSE(waits.ends_by(std::chrono::steady_clock::now()));
  waits.signal(SIGTERM);
  Output output = output_of(waits);
  EXPECT_EQ(output.code, 75) << output.err;
  EXPECT_THAT(output.last_error_line(), HasSubstr("pipe: stopped by a signal before all"));
}

TEST_F(Outputs, WhatIsReadIsNeverWrittenOver) {
  fs::create_hard_link(checkpoint_, folder_ / "same");
  fs::create_symlink(checkpoint_, folder_ / "link");
  std::string before = content_of(checkpoint_);
  for (const std::string& target :
       {checkpoint_.string(), path("same"), path("link"), path("data/t10k-images-idx3-ubyte")})
    expect_refused({"--to", target, "--overwrite"}, "is one of the inputs; choose another file");
  EXPECT_EQ(content_of(checkpoint_), before);
}

struct Pipe {
  std::string name;
  std::string path;  // in the folder, what is a FIFO
  Words words;       // PATH stands for the folder
  int code;
  friend std::ostream& operator<<(std::ostream& out, const Pipe& pipe) { return out << pipe.name; }
};

class Pipes : public testing::TestWithParam<Pipe> {};

TEST_P(Pipes, AreRefusedAndNotWaitedFor) {
  RunFolder folder;
  ASSERT_EQ(ends(folder.run("run", test_mlp + Words{"steps=4"})).code, 0);
  fs::path pipe = folder / GetParam().path;
  fs::remove(pipe);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  Words words;
  for (std::string word : GetParam().words) {
    if (size_t at = word.find("PATH"); at != word.npos)
      word.replace(at, 4, (folder / "").parent_path().string());
    words.push_back(word);
  }
  if (words[0] == "train")
    words = folder.run("run", test_mlp + Words(words.begin() + 1, words.end()));
  Output output = ends(words);
  EXPECT_EQ(output.code, GetParam().code) << output.err;
  EXPECT_THAT(output.last_error_line(), HasSubstr("is a FIFO"));
  EXPECT_TRUE(fs::is_fifo(pipe));
}

INSTANTIATE_TEST_SUITE_P(
    Names, Pipes,
    testing::Values(
        Pipe{"Checkpoint", "step.h5", {"train", "steps=6", "--resume", "PATH/step.h5"}, 5},
        Pipe{"OtherCheckpoint", "step.h5", {"predict", "--checkpoint", "PATH/step.h5"}, 5},
        Pipe{"Latest", "run/checkpoints/latest", {"train", "steps=6", "--resume", "auto"}, 2},
        Pipe{"Best", "run/checkpoints/best", {"predict", "--checkpoint", "PATH/run"}, 5},
        Pipe{"Metrics", "run/metrics.jsonl", {"train", "steps=6", "--resume", "auto"}, 2},
        Pipe{"MetricsOfANewRun", "run/metrics.jsonl", {"train", "--overwrite"}, 2},
        Pipe{"Summary", "run/summary.json", {"train", "steps=6", "--resume", "auto"}, 2},
        Pipe{"Temporary", "run/summary.json.tmp", {"train", "steps=6", "--resume", "auto"}, 2},
        Pipe{"Config", "run/config.yaml", {"train", "steps=6", "--resume", "auto"}, 2},
        Pipe{"Record", "run/.spire_run", {"train", "steps=6", "--resume", "auto"}, 2},
        Pipe{"Data", "data/train-images-idx3-ubyte", {"train", "--overwrite"}, 4},
        Pipe{
            "Table", "x.csv", {"train", "--overwrite", "data.name=csv", "data.path=PATH/x.csv"}, 4},
        Pipe{"Hdf5", "x.h5", {"train", "--overwrite", "data.name=hdf5", "data.path=PATH/x.h5"}, 4},
        Pipe{"Text",
             "x.txt",
             {"train", "--overwrite", "model.name=gpt", "data.name=tokens", "data.path=auto",
              "data.tokens.text=PATH/x.txt"},
             4},
        Pipe{"PngImage", "x.png", {"predict", "--checkpoint", "PATH/run", "PATH/x.png"}, 4}),
    [](const auto& test) { return test.param.name; });

class RemovedOutput : public testing::Test {
 protected:
  // Runs until it is stopped; returns when it has written a checkpoint.
  void start() {
    run_.emplace(
        folder_.run("run", test_mlp + Words{"steps=100000000", "checkpoint.every_steps=20"}));
    while (!fs::exists(folder_.checkpoint("run", 20)))
      ASSERT_FALSE(run_->ends_by(std::chrono::steady_clock::now() + std::chrono::milliseconds(5)));
  }
  RunFolder folder_;
  std::optional<Program> run_;
};

TEST_F(RemovedOutput, IsToldAtOnceMadeAnewAndInTheExitCode) {
  start();
  fs::rename(folder_ / "run", folder_ / "away");
  ASSERT_TRUE(run_->wait_for("run was removed or replaced during the run"));
  run_->signal(SIGTERM);
  Output output = output_of(*run_);
  EXPECT_EQ(output.code, 5) << output.err;
  EXPECT_THAT(output.last_error_line(), HasSubstr("run was removed or replaced during the run"));
  EXPECT_EQ(folder_.summary("run")["exit"], 5);
  expect_ascending(folder_.metrics("run"));
  EXPECT_EQ(folder_.metrics("run")[0]["step"], 1);
  std::vector<int64_t> steps = folder_.checkpoints("run");
  ASSERT_FALSE(steps.empty());
  int64_t last = folder_.summary("run")["steps"];
  EXPECT_EQ(steps.back(), last);
  Output resumed = ends(folder_.run(
      "run", test_mlp + Words{"--resume", "auto", "steps=" + std::to_string(last + 2)}));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
}

TEST_F(RemovedOutput, CheckpointsAloneCountToo) {
  start();
  fs::rename(folder_ / "run/checkpoints", folder_ / "away");
  ASSERT_TRUE(run_->wait_for("run/checkpoints was removed or replaced during the run"));
  run_->signal(SIGTERM);
  EXPECT_EQ(output_of(*run_).code, 5);
  EXPECT_FALSE(folder_.checkpoints("run").empty());
}

TEST_F(RemovedOutput, AFileInItsPlaceEndsTheRun) {
  start();
  std::ofstream(folder_ / "file") << "text";
  // At once: between two renames the run would make the folder anew.
  ASSERT_EQ(::renameat2(AT_FDCWD, (folder_ / "file").c_str(), AT_FDCWD, (folder_ / "run").c_str(),
                        RENAME_EXCHANGE),
            0);
  Output output = output_of(*run_);
  EXPECT_EQ(output.code, 5) << output.err;
}

// The end does not wait for what waiting does not mend.
TEST(UnwritableCheckpoints, EndTheRunWithoutAWait) {
  RunFolder folder;
  ASSERT_EQ(ends(folder.run("run", test_mlp + Words{"steps=2"})).code, 0);
  fs::create_directories(folder / "run/checkpoints/step_00000004.h5.tmp");
  Output output = ends(folder.run("run", test_mlp + Words{"steps=4", "--resume", "auto"}));
  EXPECT_EQ(output.code, 5);
  EXPECT_THAT(output.last_error_line(),
              HasSubstr("step_00000004.h5.tmp: is a folder, but a regular file is needed there"));
  EXPECT_THAT(output.err, Not(HasSubstr("it will be tried again")));
}

TEST(UnwritableCheckpoints, ANameThatIsTakenIsToldAtTheStart) {
  RunFolder folder;
  for (const char* name : {"checkpoints/latest", "checkpoints/best", "metrics.jsonl"}) {
    fs::create_directories(folder / "run" / name);
    Output output = ends(folder.run("run", test_mlp + Words{"steps=4", "--resume", "auto"}));
    EXPECT_EQ(output.code, 2) << output.err;
    EXPECT_THAT(output.last_error_line(), HasSubstr(std::string(name) + ": is a folder"));
    fs::remove_all(folder / "run");
  }
  std::ofstream(folder / "file") << "text";
  fs::create_directory(folder / "run");
  fs::rename(folder / "file", folder / "run/checkpoints");
  Output output = ends(folder.run("run", test_mlp + Words{"steps=4", "--resume", "auto"}));
  EXPECT_THAT(output.code, testing::AnyOf(2, 5)) << output.err;
}

}  // namespace
}  // namespace spire
