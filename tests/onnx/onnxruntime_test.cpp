// onnxruntime computes what Spire computes: each model is trained by the program, exported by it,
// and run by both. The variable ONNX_PYTHON names a Python with onnx and onnxruntime; without it,
// it is python3. Skipped by name where it lacks them.
#include <cstdlib>
#include <fstream>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/inference/predictor.h"
#include "tests/observe/reports.h"
#include "tests/onnx/exported_models.h"
#include "tests/tools/program.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr int64_t samples = 3;

int run_python(const std::string& words, const fs::path& log) {
  const char* given = std::getenv("ONNX_PYTHON");
  std::string command = std::string(given ? given : "python3") +
                        " " SPIRE_ROOT "/tests/onnx/run_onnx.py " + words + " > " + log.string() +
                        " 2>&1";
  return WEXITSTATUS(std::system(command.c_str()));
}

template <typename T>
void write_numbers(const fs::path& path, const std::vector<T>& numbers) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(numbers.size() * sizeof(T)));
}

// Rows (N, H, W, C) as (N, C, H, W).
std::vector<float> channels_first(const std::vector<float>& rows, const Shape& image) {
  if (image.rank() != 3) return rows;
  int64_t places = image[0] * image[1], channels = image[2], size = image.elements();
  std::vector<float> moved(rows.size());
  for (int64_t i = 0; i < std::ssize(rows); ++i) {
    int64_t sample = i / size, place = i % size / channels, channel = i % channels;
    moved[static_cast<size_t>(sample * size + channel * places + place)] =
        rows[static_cast<size_t>(i)];
  }
  return moved;
}

// Writes random inputs, and what Spire makes of them, as the exported model takes and gives them.
void write_samples(const fs::path& folder, const LoadedCheckpoint& checkpoint) {
  Predictor predictor(checkpoint.state, *checkpoint.tensors, {.device = "cpu", .batch = samples});
  const Column& column = predictor.spec().columns[0];
  int64_t count = samples * column.shape.elements();
  std::vector<float> outputs(static_cast<size_t>(samples * predictor.output_shape().elements()));
  if (column.dtype == DType::i32) {
    std::vector<int32_t> tokens = random_tokens(count, predictor.spec().classes);
    predictor.run(tokens.data(), samples, outputs);
    write_numbers(folder / "input", std::vector<int64_t>(tokens.begin(), tokens.end()));
  } else {
    std::vector<float> rows = random_numbers(count, 7);
    predictor.run(rows.data(), samples, outputs);
    write_numbers(folder / "input", channels_first(rows, column.shape));
  }
  write_numbers(folder / "output", channels_first(outputs, predictor.output_shape()));
}

class OnnxRuntime : public testing::TestWithParam<ExportCase> {};

TEST_P(OnnxRuntime, ComputesWhatSpireComputes) {
  ScratchFolder scratch;
  fs::path log = scratch.path / "log";
  if (run_python("", log) == no_package)
    GTEST_SKIP() << "this Python has no onnx or onnxruntime: set ONNX_PYTHON to one that has";
  std::string run = scratch.path / "run", model = scratch.path / "model.onnx";
  std::vector<std::string> words = {"train", "output=" + run};
  words.insert(words.end(), GetParam().words.begin(), GetParam().words.end());
  words.emplace_back("ema.decay=0.5");
  Output trained = trainer(words);
  ASSERT_EQ(trained.code, 0) << trained.err;
  write_samples(scratch.path, load_checkpoint(fs::path(run) / "checkpoints" / "step_00000003.h5"));
  for (const std::vector<std::string>& options : std::vector<std::vector<std::string>>{
           {}, {"--opset", "18", "--external-data"}, {"--opset", "23", "--batch", "2"}}) {
    std::vector<std::string> asked = {"export", "--checkpoint", run, "--to", model, "--overwrite"};
    asked.insert(asked.end(), options.begin(), options.end());
    Output exported = trainer(asked);
    ASSERT_EQ(exported.code, 0) << exported.err;
    int code = run_python(
        model + " " + (scratch.path / "input").string() + " " + (scratch.path / "output").string(),
        log);
    EXPECT_EQ(code, 0) << file_text(log);
    if (std::getenv("ONNX_VERBOSE")) std::cout << file_text(log);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, OnnxRuntime, testing::ValuesIn(export_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
