// TensorBoard itself reads the files back, where Python has the package tensorboard. The variable
// TENSORBOARD_PYTHON names the Python; without it, it is python3.
#include <cstdlib>
#include <sys/wait.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/observe/tensorboard/tensorboard_files.h"
#include "tests/observe/published_run.h"

namespace spire {
namespace {

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
  ScratchFolder scratch;
  std::filesystem::path folder = scratch.path / "tensorboard", out = scratch.path / "out.json";
  write_steps(folder, 1, 10, 0.5);
  write_steps(folder, 6, 12, 0.25);  // from a checkpoint of step 5
  const char* given = std::getenv("TENSORBOARD_PYTHON");
  std::string command = std::string(given ? given : "python3") +
                        " " SPIRE_ROOT "/tests/observe/read_events.py " + folder.string() + " > " +
                        out.string();
  int status = std::system((command + " 2> " + (scratch.path / "err").string()).c_str());
  if (WEXITSTATUS(status) == no_package) GTEST_SKIP() << "Python has no package tensorboard here";
  ASSERT_EQ(status, 0) << file_text(scratch.path / "err");
  auto found = nlohmann::json::parse(file_text(out));
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
