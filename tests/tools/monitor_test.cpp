// A run that shows itself: its page, its metrics, TensorBoard's files.
#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/observe/client.h"
#include "tests/tools/small_data.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::Not;

Words files_in(const std::string& folder) {
  Words names;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing))
    names.push_back(entry.path().filename());
  return names;
}

// Nothing that observes a run changes it.
TEST(Monitor, ARunThatIsWatchedTrainsTheSameBits) {
  SmallData data;
  Output alone = trainer(data.run("alone"));
  Output watched = expect_success(trainer(
      data.run("watched", {"--serve", "0", "monitor.prometheus=0", "log.tensorboard=true"})));
  EXPECT_NE(printed_hash(alone), "");
  EXPECT_EQ(printed_hash(watched), printed_hash(alone));
  expect_parts(watched.err, {"live page: http://127.0.0.1:",
                             "Prometheus reads the run's metrics at http://127.0.0.1:"});
  EXPECT_THAT(files_in(data.output("watched") + "/tensorboard"), testing::SizeIs(1));
  EXPECT_THAT(files_in(data.output("alone")), Not(testing::Contains("tensorboard")));
}

TEST(Monitor, ATakenPortIsRefusedBeforeAnythingIsWritten) {
  SmallData data;
  Listener taken(0);
  std::string port = std::to_string(taken.port());
  expect_error(2, trainer(data.run("run", {"--serve", port})),
               "monitor.serve: cannot listen on port " + port);
  EXPECT_THAT(files_in(data.output("run")), testing::IsEmpty());
}

TEST(Monitor, AClientThatHangsDoesNotDelayTheEnd) {
  SmallData data;
  ReservedPort port;
  Program run(data.run("run", {"--serve", std::to_string(port.number()), "steps=1000000000",
                               "checkpoint.every_epochs=0", "eval.every_epochs=0"}));
  ASSERT_TRUE(run.wait_for("live page: http://127.0.0.1:"));
  Socket hanging = connect_to(loopback_address, port.number(), in_a_minute());
  EXPECT_THAT(ask(port.number(), "/state.json"), HasSubstr("\"job\":\"run\""));
  run.signal(SIGINT);
  Output output = run.finish();
  EXPECT_EQ(output.code, 75) << output.err;
  EXPECT_EQ(read_all(hanging), "");
}

TEST(Monitor, ARunGoesOnWithoutTensorBoardIfItsFilesCannotBeMade) {
  SmallData data;
  expect_success(trainer(data.run("run")));
  std::ofstream(data.output("run") + "/tensorboard") << "a file";
  Output resumed = expect_success(
      trainer(data.run("run", {"steps=14", "--resume", "auto", "log.tensorboard=true"})));
  EXPECT_THAT(resumed.err, HasSubstr("the run goes on without TensorBoard"));
}

TEST(Monitor, AResumedRunAddsAFileAndANewOneRemovesThem) {
  SmallData data;
  std::string folder = data.output("run") + "/tensorboard";
  Words words = data.run("run", {"log.tensorboard=true"});
  expect_success(trainer(words));
  expect_success(trainer(words + Words{"steps=14", "--resume", "auto"}));
  EXPECT_THAT(files_in(folder), testing::SizeIs(2));
  EXPECT_EQ(trainer(data.run("run", {"log.tensorboard=true", "--overwrite"})).code, 0);
  EXPECT_THAT(files_in(folder), testing::SizeIs(1));
  EXPECT_EQ(trainer(data.run("run", {"--overwrite"})).code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

// Several runs, and other programs, may write into one folder that `tensorboard` links to.
TEST(Monitor, ANewRunRemovesNoEventFilesOfOthers) {
  SmallData data;
  std::string shared = data.output("shared");
  std::filesystem::create_directories(shared);
  std::ofstream(shared + "/events.out.tfevents.1700000000.host.1") << "of another program";
  for (const char* name : {"one", "two"}) {
    std::filesystem::create_directories(data.output(name));
    EXPECT_EQ(trainer(data.run(name)).code, 0);
    std::filesystem::create_directory_symlink(shared, data.output(name) + "/tensorboard");
    for (const char* steps : {"steps=13", "steps=14"})
      EXPECT_EQ(trainer(data.run(name, {"log.tensorboard=true", steps, "--resume", "auto"})).code,
                0);
  }
  EXPECT_THAT(files_in(shared), testing::SizeIs(5));
  EXPECT_EQ(trainer(data.run("one", {"--overwrite"})).code, 0);
  EXPECT_THAT(files_in(shared), testing::SizeIs(3));
  EXPECT_TRUE(std::filesystem::is_symlink(data.output("one") + "/tensorboard"));
  EXPECT_EQ(trainer(data.run("two", {"--overwrite"})).code, 0);
  EXPECT_THAT(files_in(shared),
              testing::ElementsAre(testing::HasSubstr("events.out.tfevents.1700000000.host.1")));
}

}  // namespace
}  // namespace spire
