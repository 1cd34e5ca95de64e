// Limits of the system that are reached at any place: each run ends in time, with a message that
// names the limit and with code 3, which nobody takes for "start again"; or it runs.
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/run/program/under_conditions.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
namespace fs = std::filesystem;

class Limits : public testing::Test {
 protected:
  // Two lanes of two threads, and readers; all of the engine's own threads and OpenMP's.
  Words run(const std::string& name, const Words& more = {}) const {
    return folder.run(name,
                      test_mlp +
                          Words{"steps=4", "checkpoint.every_steps=2", "devices=2xcpu", "towers=2",
                                "tower_threads=2", "data.workers=2", "--overwrite"} +
                          more);
  }

  // Ends in time and names `limit`, or all is well. Returns whether it is.
  bool expect_named(const std::string& first, const std::string& limit, const Words& words) {
    SCOPED_TRACE(first);
    Ended ended = end_of(first, "", words);
    EXPECT_TRUE(ended.on_time);
    const Output& output = ended.output;
    if (output.code == 0) return true;
    EXPECT_EQ(output.code, 3) << output.err;
    EXPECT_THAT(output.last_error_line(), StartsWith("error[3]: "));
    EXPECT_THAT(output.last_error_line(), HasSubstr(limit));
    EXPECT_THAT(output.err, Not(HasSubstr("restart 1")));
    return false;
  }

  RunFolder folder;
};

TEST_F(Limits, StacksAreAskedForBeforeTheyRunOut) {
  for (int kib : {64, 100, 300, 511}) {
    std::string limit = "ulimit -s " + std::to_string(kib) + ";";
    EXPECT_FALSE(expect_named(limit, "ulimit -s", run("run")));
    EXPECT_FALSE(expect_named(limit, "ulimit -s", run("run", {"--max-restarts=2"})));
  }
  EXPECT_TRUE(expect_named("ulimit -s 512;", "", run("run")));
}

// From too few to open any file of the run to enough; with fewer the system's loader cannot open
// the program's libraries. Nothing is written: a checkpoint for which
// there is no descriptor is waited for, and then code 3.
TEST_F(Limits, FilesOfEachDatasetAndRank) {
  Words hdf5 = {"data.name=hdf5", "data.path=" + (folder / "data.h5").string()};
  Words csv = {"data.name=csv", "data.path=" + (folder / "rows.csv").string()};
  std::ofstream(folder / "rows.csv") << "a,b,c\n1,2,x\n2,3,y\n3,4,x\n4,5,y\n5,6,x\n6,7,y\n7,8,x\n"
                                        "8,9,y\n9,1,x\n2,1,y\n3,1,x\n1,4,y\n";
  Output made = trainer(Words{"dataset", "convert", "--to", folder / "data.h5"} + run("new"));
  ASSERT_EQ(made.code, 0) << made.err;
  for (const Words& more :
       {Words{}, hdf5, csv, Words{"devices=1xcpu", "--processes=2"}, Words{"--max-restarts=2"}}) {
    bool enough = false;
    for (int files = 12; files < 60 && !enough; ++files) {
      std::string limit = "ulimit -n " + std::to_string(files) + ";";
      enough = expect_named(limit, "ulimit -n", run("run", more + Words{"--dry-run", "2"}));
    }
    EXPECT_TRUE(enough) << more.size();
  }
}

#ifdef FAILING_CALLS_LIBRARY
// Whichever thread it is that the system no longer starts.
TEST_F(Limits, Threads) {
  for (const Words& more : {Words{}, Words{"--max-restarts=2"}}) {
    bool enough = false;
    for (int refused = 1; refused <= 60 && !enough; ++refused) {  // and all later ones
      std::string limit =
          fmt::format("export LD_PRELOAD=" FAILING_CALLS_LIBRARY " SPIRE_TEST_FAIL=thread:{}:{}+;",
                      EAGAIN, refused);
      enough = expect_named(limit, "ulimit -u", run("run", more));
    }
    EXPECT_TRUE(enough);
  }
}
#endif

// In a name space of mounts of its own, where the system gives one.
TEST_F(Limits, NoProc) {
  if (std::system("unshare -rm mount -t tmpfs none /proc 2> /dev/null") != 0)
    GTEST_SKIP() << "no name spaces for users here";
  auto without = [](const Words& words) {
    Words all = {"-rm", "/bin/bash", "-c", "mount -t tmpfs none /proc && exec \"$0\" \"$@\"",
                 TRAINER_PROGRAM};
    return Program("/usr/bin/unshare", all + words).finish();
  };
  Output output = without(run("run"));
  EXPECT_EQ(output.code, 0) << output.err;
  for (const char* option : {"--processes=2", "--max-restarts=2"}) {
    Output refused = without(run("run", {option}));
    EXPECT_EQ(refused.code, 3) << refused.err;
    EXPECT_THAT(refused.last_error_line(), HasSubstr("need /proc, which is not there"));
  }
}

// A service of somebody else has the port: it will have it again.
TEST_F(Limits, APortThatIsTaken) {
  int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  auto generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(taken, generic, size), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  ASSERT_EQ(getsockname(taken, generic, &size), 0);
  std::string port = std::to_string(ntohs(address.sin_port));
  Ended ended = end_of(
      "export RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 "
      "MASTER_ADDR=127.0.0.1 MASTER_PORT=" +
          port + ";",
      "", run("run"));
  close(taken);
  EXPECT_EQ(ended.output.code, 3) << ended.output.err;
  EXPECT_THAT(ended.output.last_error_line(), HasSubstr("cannot listen on port " + port));
}

}  // namespace
}  // namespace spire
