// PyTorch's torchrun starts the ranks: its agent keeps MASTER_PORT for its store, and the ranks
// meet through that. Skipped where torchrun is not installed;
// tests/process/rendezvous/torch_store_test.cpp speaks to a stand-in everywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/process/socket.h"
#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

const std::string test_torchrun = TORCHRUN_PROGRAM;

class Torchrun : public testing::Test {
 protected:
  void SetUp() override {
    if (test_torchrun.empty() || !fs::exists(test_torchrun)) GTEST_SKIP() << "no torchrun";
  }
  Output run(const Words& variables, const Words& options, const std::string& name) const {
    Words command = variables + Words{"timeout", "--kill-after=5", "100", test_torchrun} + options +
                    Words{"--nproc-per-node=2", "--no-python", TRAINER_PROGRAM};
    return Program("/usr/bin/env", command + folder_.run(name, test_course + test_mlp)).finish();
  }
  RunFolder folder_;
};

TEST_F(Torchrun, StartsARunInEachOfItsModes) {
  Output alone = trainer(folder_.run("alone", test_course + test_mlp));
  ASSERT_EQ(alone.code, 0) << alone.err;
  std::string port = std::to_string(ReservedPort().number());
  struct {
    const char* name;
    Words variables, options;
  } modes[] = {
      {"standalone", {}, {"--standalone"}},
      {"fixed", {}, {"--master-addr=127.0.0.1", "--master-port=" + port}},
      {"c10d", {}, {"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:" + port}},
      {"secret", {"SPIRE_SECRET=the ranks of this test"}, {"--standalone"}},
      {"own_port", {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"}, {"--standalone"}},
  };
  for (const auto& [name, variables, options] : modes) {
    Output output = run(variables, options, name);
    EXPECT_EQ(output.code, 0) << name << '\n' << output.err;
    EXPECT_EQ(printed_hash(output), printed_hash(alone)) << name;
    EXPECT_THAT(output.err, Not(HasSubstr("error["))) << name;
  }
}

}  // namespace
}  // namespace spire
