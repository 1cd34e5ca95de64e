// onnxruntime and PEFT compute what Spire computes: each model is trained by the program, exported
// by it, and run by both. The variable ONNX_PYTHON names a Python with onnx and onnxruntime;
// without it, it is python3. Skipped by name where it lacks them.
#include <cstdlib>
#include <fstream>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/inference/predictor.h"
#include "tests/base/folder.h"
#include "tests/onnx/exported_models.h"
#include "tests/tools/program.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr int64_t samples = 3;

// Runs a script of this folder by the Python that the variable names.
int run_python(const char* variable, const std::string& words, const fs::path& log) {
  const char* given = std::getenv(variable);
  std::string command = std::string(given ? given : "python3") + " " SPIRE_ROOT "/tests/onnx/" +
                        words + " > " + log.string() + " 2>&1";
  return WEXITSTATUS(std::system(command.c_str()));
}
int run_onnx(const std::string& words, const fs::path& log) {
  return run_python("ONNX_PYTHON", "run_onnx.py " + words, log);
}
int run_peft(const std::string& words, const fs::path& log) {
  return run_python("PEFT_PYTHON", "run_peft.py " + words, log);
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
  Folder scratch;
  fs::path log = scratch / "log";
  if (run_onnx("", log) == no_package)
    GTEST_SKIP() << "this Python has no onnx or onnxruntime: set ONNX_PYTHON to one that has";
  std::string run = scratch / "run", model = scratch / "model.onnx";
  std::vector<std::string> words = {"train", "output=" + run};
  words.insert(words.end(), GetParam().words.begin(), GetParam().words.end());
  words.emplace_back("ema.decay=0.5");
  Output trained = trainer(words);
  ASSERT_EQ(trained.code, 0) << trained.err;
  write_samples(scratch, load_checkpoint(fs::path(run) / "checkpoints" / "step_00000003.h5"));
  for (const std::vector<std::string>& options : std::vector<std::vector<std::string>>{
           {}, {"--opset", "18", "--external-data"}, {"--opset", "23", "--batch", "2"}}) {
    std::vector<std::string> asked = {"export", "--checkpoint", run, "--to", model, "--overwrite"};
    asked.insert(asked.end(), options.begin(), options.end());
    Output exported = trainer(asked);
    ASSERT_EQ(exported.code, 0) << exported.err;
    int code = run_onnx(
        model + " " + (scratch / "input").string() + " " + (scratch / "output").string(), log);
    EXPECT_EQ(code, 0) << content_of(log);
    if (std::getenv("ONNX_VERBOSE")) std::cout << content_of(log);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, OnnxRuntime, testing::ValuesIn(export_cases()),
                         [](const auto& test) { return test.param.name; });

// Adapters are trained by the program on a base model of Hugging Face's transformers, exported, and
// loaded onto that model by PEFT. The variable PEFT_PYTHON names a Python with peft, torch and
// transformers.
struct PeftCase {
  std::string family;
  std::vector<std::string> model;
};
void PrintTo(const PeftCase& test, std::ostream* out) {
  *out << test.family;
}

class Peft : public testing::TestWithParam<PeftCase> {};

TEST_P(Peft, ComputesWhatSpireComputes) {
  Folder scratch;
  fs::path log = scratch / "log";
  if (run_peft("", log) == no_package)
    GTEST_SKIP() << "this Python has no peft, torch or transformers: set PEFT_PYTHON to one that "
                    "has";
  std::string base = scratch / "base", run = scratch / "run";
  ASSERT_EQ(run_peft("make " + GetParam().family + " " + base, log), 0) << content_of(log);
  for (const char* patterns : {"[]", "[\"block1.*\", \"*.qkv\"]"}) {
    std::vector<std::string> words = {"train",
                                      "output=" + run,
                                      "--overwrite",
                                      "init.from=" + base,
                                      "init.names=huggingface",
                                      "model.blocks=2",
                                      "model.width=16",
                                      "data.name=synthetic",
                                      "data.synthetic.kind=tokens",
                                      "data.synthetic.shape=[12]",
                                      "data.synthetic.classes=23",
                                      "data.synthetic.samples=32",
                                      "data.synthetic.test_samples=4",
                                      "adapt.lora.rank=3",
                                      "adapt.lora.alpha=12",
                                      std::string("adapt.lora.patterns=") + patterns,
                                      "optimizer.name=adam",
                                      "optimizer.lr=0.05",
                                      "devices=cpu",
                                      "tower_threads=1",
                                      "batch_size=4",
                                      "steps=3",
                                      "eval.every_epochs=0"};
    words.insert(words.end(), GetParam().model.begin(), GetParam().model.end());
    Output trained = trainer(words);
    ASSERT_EQ(trained.code, 0) << trained.err;
    fs::path adapters = scratch / "adapters";
    fs::create_directories(adapters);
    Output exported =
        trainer({"export", "--checkpoint", run, "--lora", "apart", "--names", "huggingface", "--to",
                 adapters / "adapter_model.safetensors", "--overwrite"});
    ASSERT_EQ(exported.code, 0) << exported.err;
    write_samples(scratch, load_checkpoint(fs::path(run) / "checkpoints" / "step_00000003.h5"));
    int code = run_peft("compare " + base + " " + adapters.string() + " " +
                            (scratch / "input").string() + " " + (scratch / "output").string(),
                        log);
    EXPECT_EQ(code, 0) << patterns << '\n' << content_of(log);
    if (std::getenv("PEFT_VERBOSE")) std::cout << content_of(log);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Peft,
                         testing::Values(PeftCase{"gpt2", {"model.name=gpt", "model.heads=2"}},
                                         PeftCase{"llama",
                                                  {"model.name=llama", "model.heads=4",
                                                   "model.kv_heads=2", "model.mlp_width=24",
                                                   "model.epsilon=1e-6", "model.rope_theta=10000",
                                                   "model.tied_head=false"}}),
                         [](const auto& test) { return test.param.family; });

}  // namespace
}  // namespace spire
