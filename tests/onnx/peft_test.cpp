// PEFT computes what Spire computes: adapters are trained by the program on a base model of Hugging
// Face's transformers, exported, and loaded onto that model by PEFT. The variable PEFT_PYTHON names
// a Python with peft, torch and transformers; without it, it is python3. Skipped by name where it
// lacks them.
#include <cstdlib>
#include <filesystem>
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

constexpr int64_t windows = 3;

int run_peft(const std::string& words, const fs::path& log) {
  const char* given = std::getenv("PEFT_PYTHON");
  std::string command = std::string(given ? given : "python3") +
                        " " SPIRE_ROOT "/tests/onnx/run_peft.py " + words + " > " + log.string() +
                        " 2>&1";
  return WEXITSTATUS(std::system(command.c_str()));
}

// Files of numbers: windows of tokens, and the logits that Spire computes for them.
template <typename T>
void write_file_of(const fs::path& path, const std::vector<T>& numbers) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(numbers.size() * sizeof(T)));
}

void write_logits(const fs::path& folder, const LoadedCheckpoint& checkpoint) {
  Predictor predictor(checkpoint.state, *checkpoint.tensors, {.device = "cpu", .batch = windows});
  int64_t length = predictor.spec().columns[0].shape.elements();
  std::vector<int32_t> tokens = random_tokens(windows * length, predictor.spec().classes);
  std::vector<float> logits(static_cast<size_t>(windows * predictor.output_shape().elements()));
  predictor.run(tokens.data(), windows, logits);
  write_file_of(folder / "tokens", std::vector<int64_t>(tokens.begin(), tokens.end()));
  write_file_of(folder / "logits", logits);
}

struct PeftCase {
  std::string family;
  std::vector<std::string> model;
};
void PrintTo(const PeftCase& test, std::ostream* out) {
  *out << test.family;
}

class Peft : public testing::TestWithParam<PeftCase> {};

TEST_P(Peft, ComputesWhatSpireComputes) {
  ScratchFolder scratch;
  fs::path log = scratch.path / "log";
  if (run_peft("", log) == no_package)
    GTEST_SKIP() << "this Python has no peft, torch or transformers: set PEFT_PYTHON to one that "
                    "has";
  std::string base = scratch.path / "base", run = scratch.path / "run";
  ASSERT_EQ(run_peft("make " + GetParam().family + " " + base, log), 0) << file_text(log);
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
    fs::path adapters = scratch.path / "adapters";
    fs::create_directories(adapters);
    Output exported =
        trainer({"export", "--checkpoint", run, "--lora", "apart", "--names", "huggingface", "--to",
                 adapters / "adapter_model.safetensors", "--overwrite"});
    ASSERT_EQ(exported.code, 0) << exported.err;
    write_logits(scratch.path, load_checkpoint(fs::path(run) / "checkpoints" / "step_00000003.h5"));
    int code =
        run_peft("compare " + base + " " + adapters.string() + " " +
                     (scratch.path / "tokens").string() + " " + (scratch.path / "logits").string(),
                 log);
    EXPECT_EQ(code, 0) << patterns << '\n' << file_text(log);
    if (std::getenv("PEFT_VERBOSE")) std::cout << file_text(log);
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
