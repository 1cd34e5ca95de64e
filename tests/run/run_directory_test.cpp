#include "engine/run/run_directory.h"

#include <csignal>
#include <fstream>
#include <optional>
#include <sys/stat.h>
#include <sys/wait.h>

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/base/folder.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RunDirectoryTest : public testing::Test {
 protected:
  void write(const fs::path& name, const std::string& text = "mine") const {
    fs::create_directories((output / name).parent_path());
    std::ofstream(output / name) << text;
  }
  bool there(const fs::path& name) const { return fs::exists(output / name); }
  std::string refusal(bool replace) const {
    return message_of(Category::config, [&] { RunDirectory(output).begin(replace); });
  }
  // What a run leaves behind.
  void run() const {
    RunDirectory directory(output);
    directory.begin(false);
    directory.folder("checkpoints");
    directory.folder("samples");
    directory.expect_checkpoint("step_00000010.h5");
    write("checkpoints/step_00000010.h5");
    write("checkpoints/latest");
    write("checkpoints/best.tmp");
    write("samples/step_00000010.png");
    for (const char* name : {"config.yaml", "metrics.jsonl", "audit.jsonl", "summary.json"})
      write(name);
  }

  Folder folder;
  fs::path output = folder / "above/run";
};

TEST_F(RunDirectoryTest, ARunThatIsRefusedLeavesNothing) {
  { RunDirectory directory(output); }
  EXPECT_FALSE(fs::exists(folder / "above"));
  fs::create_directories(output);
  { RunDirectory directory(output); }
  EXPECT_TRUE(fs::is_empty(output));
  run();
  std::string record = content_of(output / RunDirectory::record_name);
  { RunDirectory directory(output); }
  EXPECT_EQ(content_of(output / RunDirectory::record_name), record);
}

TEST_F(RunDirectoryTest, NeverDeletesFilesThatNoRunWrote) {
  write("samples/step_00000010.png");
  write("checkpoints/step_00000010.h5");
  write("metrics.jsonl");
  EXPECT_THAT(refusal(false), HasSubstr("is not empty; continue the run with --resume auto"));
  EXPECT_THAT(refusal(true), HasSubstr("only what a run wrote is deleted"));
  EXPECT_TRUE(there("samples/step_00000010.png") && there("checkpoints/step_00000010.h5") &&
              there("metrics.jsonl"));
}

TEST_F(RunDirectoryTest, ReplacingARunDeletesItsFilesAndNoOthers) {
  run();
  for (const char* name : {"notes.txt", "samples/photo.txt", "checkpoints/best.h5"}) write(name);
  EXPECT_THAT(refusal(false), HasSubstr("is not empty"));
  RunDirectory(output).begin(true);
  for (const char* name : {"notes.txt", "samples/photo.txt", "checkpoints/best.h5"})
    EXPECT_TRUE(there(name)) << name;
  for (const char* name :
       {"config.yaml", "metrics.jsonl", "audit.jsonl", "summary.json", "samples/step_00000010.png",
        "checkpoints/step_00000010.h5", "checkpoints/latest", "checkpoints/best.tmp"})
    EXPECT_FALSE(there(name)) << name;
}

TEST_F(RunDirectoryTest, CheckpointsThatNoRunRecordedAreLeft) {
  run();
  fs::rename(output / "checkpoints", folder / "big");
  fs::create_directory_symlink("../../big", output / "checkpoints");
  for (const char* name : {"step_00000007.h5", "step_00000008.h5.tmp", "latest"})
    write(fs::path("checkpoints") / name, name);
  write("checkpoints/best", "step_00000007.h5\n");
  RunDirectory(output).begin(true);
  EXPECT_FALSE(there("checkpoints/step_00000010.h5") || there("checkpoints/latest"));
  for (const char* name : {"step_00000007.h5", "step_00000008.h5.tmp", "best"})
    EXPECT_TRUE(there(fs::path("checkpoints") / name)) << name;
}

// As a program wrote it whose record did not name them.
TEST_F(RunDirectoryTest, CheckpointsOfAnOldRunAreItsOwnUnlessALinkLeadsElsewhere) {
  for (bool linked : {false, true}) {
    run();
    write(RunDirectory::record_name, "host, process 1\nbegun\nmade checkpoints\n");
    if (linked) {
      fs::rename(output / "checkpoints", folder / "big");
      fs::create_directory_symlink("../../big", output / "checkpoints");
    }
    EXPECT_EQ(RunDirectory(output).wrote_checkpoint("step_00000010.h5"), !linked);
    RunDirectory(output).begin(true);
    EXPECT_EQ(there("checkpoints/step_00000010.h5"), linked);
    fs::remove_all(output);
  }
}

TEST_F(RunDirectoryTest, TheRecordForgetsCheckpointsThatAreGone) {
  run();
  RunDirectory directory(output);
  directory.go_on();
  fs::remove(output / "checkpoints/step_00000010.h5");
  directory.expect_checkpoint("step_00000020.h5");
  EXPECT_FALSE(directory.wrote_checkpoint("step_00000010.h5"));
  EXPECT_TRUE(directory.wrote_checkpoint("step_00000020.h5"));
}

TEST_F(RunDirectoryTest, DeletesAFolderOnlyWhereARunMadeIt) {
  fs::create_directories(output / "samples");
  fs::create_directories(folder / "elsewhere");
  {
    RunDirectory directory(output);
    EXPECT_THAT(message_of(Category::config, [&] { directory.begin(false); }),
                HasSubstr("is not empty"));
  }
  fs::remove(output / "samples");
  run();
  fs::remove_all(output / "samples");
  fs::create_directory_symlink(folder / "elsewhere", output / "samples");
  RunDirectory(output).begin(true);
  EXPECT_FALSE(there("checkpoints"));
  EXPECT_TRUE(fs::is_symlink(output / "samples"));
}

TEST_F(RunDirectoryTest, AllowsOneRunAtATime) {
  std::optional<RunDirectory> first(std::in_place, output);
  first->begin(false);
  EXPECT_TRUE(first->locked());
  std::string refused = message_of(Category::config, [&] { RunDirectory second(output); });
  EXPECT_THAT(refused, HasSubstr("is in use by another run ("));
  EXPECT_THAT(refused, HasSubstr(fmt::format("process {}", ::getpid())));
  first.reset();
  RunDirectory(output).go_on();
}

TEST_F(RunDirectoryTest, IsFreeWhenTheRunIsKilled) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  pid_t child = ::fork();
  if (child == 0) {
    RunDirectory directory(output);
    directory.begin(false);
    if (::write(ready[1], "r", 1) == 1) ::pause();
    ::_exit(1);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THAT(message_of(Category::config, [&] { RunDirectory second(output); }),
              HasSubstr(fmt::format("process {}", child)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  RunDirectory(output).go_on();
  ::close(ready[0]);
  ::close(ready[1]);
}

// Before anything in the directory is changed.
TEST_F(RunDirectoryTest, NamesThatAreNoRegularFilesAreRefusedAtTheStart) {
  for (const char* name : {"metrics.jsonl", "audit.jsonl", "summary.json", "config.yaml"}) {
    run();
    fs::remove(output / name);
    ASSERT_EQ(::mkfifo((output / name).c_str(), 0600), 0);
    for (bool replace : {true, false}) {
      RunDirectory directory(output);
      std::string refused = message_of(
          Category::config, [&] { replace ? directory.begin(true) : directory.go_on(); });
      EXPECT_THAT(refused, HasSubstr(std::string(name) + ": is a FIFO"));
    }
    EXPECT_TRUE(there("checkpoints/step_00000010.h5"));
    fs::remove_all(output);
  }
  RunDirectory directory(output);
  directory.begin(false);
  write("checkpoints", "a file");
  EXPECT_THAT(message_of(Category::config, [&] { directory.folder("checkpoints"); }),
              HasSubstr("checkpoints is needed as a folder"));
}

TEST_F(RunDirectoryTest, RemovedFoldersAreReportedAndMadeAgain) {
  RunDirectory directory(output);
  directory.begin(false);
  directory.folder("checkpoints");
  EXPECT_EQ(directory.restore_if_lost(), "");
  fs::remove_all(output / "checkpoints");
  EXPECT_THAT(directory.restore_if_lost(), HasSubstr("run/checkpoints was removed or replaced"));
  EXPECT_TRUE(there("checkpoints"));
  fs::remove_all(output);
  EXPECT_THAT(directory.restore_if_lost(), HasSubstr("run was removed or replaced"));
  EXPECT_TRUE(there("checkpoints"));
  EXPECT_THAT(message_of(Category::config, [&] { RunDirectory second(output); }),
              HasSubstr("is in use by another run"));
  fs::rename(output, folder / "moved");
  EXPECT_THAT(directory.restore_if_lost(), HasSubstr("was removed or replaced"));
  EXPECT_EQ(directory.restore_if_lost(), "");
}

TEST_F(RunDirectoryTest, AFolderThatCannotBeMadeAgainIsAnError) {
  RunDirectory directory(output);
  directory.begin(false);
  directory.folder("checkpoints");
  fs::remove_all(output);
  {
    RunDirectory other(output);
    EXPECT_THAT(message_of(Category::checkpoint, [&] { directory.restore_if_lost(); }),
                HasSubstr("is in use by another run"));
  }
  std::ofstream(output) << "a file";
  EXPECT_THAT(message_of(Category::checkpoint, [&] { directory.restore_if_lost(); }),
              HasSubstr("cannot create"));
}

TEST_F(RunDirectoryTest, AFileInPlaceOfTheDirectoryIsRefused) {
  std::ofstream(folder / "file");
  EXPECT_THAT(message_of(Category::config, [&] { RunDirectory(folder / "file"); }),
              HasSubstr("is a file; name a directory"));
  EXPECT_THAT(message_of(Category::config, [&] { RunDirectory(folder / "file" / "run"); }),
              HasSubstr("cannot create"));
}

}  // namespace
}  // namespace spire
