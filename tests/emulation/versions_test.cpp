// Tests of runs that are resumed with other versions of the libraries.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/checkpoint/checkpoint_file.h"
#include "engine/train/run_tuning.h"
#include "tests/checkpoint/checkpoint_fixture.h"
#include "tests/run/recorder.h"

namespace spire {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class EmulationVersions : public CheckpointTest {
 protected:
  std::vector<std::string> train_on(const std::string& device, int64_t steps) {
    RunConfig config;
    config.data.name = "synthetic";
    config.data.synthetic = {.shape = {4, 4, 1}, .classes = 2, .samples = 8, .test_samples = 4};
    config.model.name = "linear";
    config.batch_size = 4;
    config.towers = 1;
    config.devices = {device};
    config.steps = steps;
    config.output = (folder / "run").string();
    RunOptions options;
    options.resume = "auto";
    Recorder heard;
    train(config, options, heard);
    return heard.warnings;
  }
  std::filesystem::path checkpoint(int64_t step) const {
    return folder / "run" / "checkpoints" / fmt::format("step_{:08}.h5", step);
  }
};

TEST_F(EmulationVersions, AreInTheCheckpointAndAChangeIsReported) {
  train_on("cuda:0", 1);
  TrainingState state = read_checkpoint(checkpoint(1));
  EXPECT_EQ(state.versions, (LibraryVersions{{"cuBLASLt", "13.0.0"}, {"cuDNN", "9.19.0"}}));
  state.versions["cuBLASLt"] = "12.9.1";
  write_checkpoint(checkpoint(1), state);
  EXPECT_THAT(train_on("cuda:0", 2), Contains(AllOf(HasSubstr("libraries changed since"),
                                                    HasSubstr("cuBLASLt is 13.0.0, was 12.9.1"))));
  EXPECT_THAT(train_on("cuda:0", 3), Not(Contains(HasSubstr("libraries changed"))));
}

TEST_F(EmulationVersions, OnCpusNoneAreRecorded) {
  train_on("cpu:0", 1);
  EXPECT_TRUE(read_checkpoint(checkpoint(1)).versions.empty());
}

}  // namespace
}  // namespace spire
