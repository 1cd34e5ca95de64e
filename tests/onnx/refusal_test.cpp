// trainer export, asked for what it cannot do: the exit code, a message that says what to do, and
// no file.
#include <filesystem>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint_file.h"
#include "tests/onnx/trained_run.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct RefusedExport {
  std::string name;
  std::vector<std::string> words;
  int code;
  std::string message;
};
void PrintTo(const RefusedExport& refusal, std::ostream* out) {
  *out << refusal.name;
}

class ExportRefusal : public testing::TestWithParam<RefusedExport> {
 protected:
  TrainedRun run_{{"model.name=mlp", "model.hidden=[4]"}};
};

TEST_P(ExportRefusal, SaysWhatToDo) {
  const RefusedExport& refusal = GetParam();
  fs::create_directory(run_.folder / "empty");
  std::ofstream(run_.folder / "text.h5") << "no checkpoint";
  std::ofstream(run_.folder / "taken.onnx") << "somebody's";
  std::ofstream(run_.folder / "taken.npz") << "somebody's";
  // A good header, and then half of the tensors.
  fs::copy_file(run_.checkpoint(), run_.folder / "half.h5");
  fs::resize_file(run_.folder / "half.h5", fs::file_size(run_.checkpoint()) * 3 / 4);
  TrainingState spoiled = read_checkpoint(run_.checkpoint());
  for (NamedTensor& tensor : spoiled.weights)
    if (tensor.name == "dense1.weight") tensor.values[5] = std::numeric_limits<float>::quiet_NaN();
  write_checkpoint(run_.folder / "spoiled.h5", spoiled);
  std::vector<std::string> words = {"export"};
  for (std::string word : refusal.words) {
    if (word.starts_with("FOLDER")) word = run_.folder / word.substr(7);
    words.push_back(word);
  }
  Output output = trainer(words);
  EXPECT_EQ(output.code, refusal.code) << output.err;
  EXPECT_THAT(output.last_error_line(), HasSubstr(refusal.message));
  EXPECT_EQ(output.out, "");
  for (const auto& entry : fs::directory_iterator(fs::path(run_.folder / ".")))
    EXPECT_TRUE(entry.path().stem() != "new") << entry.path();
}

std::vector<std::string> to(const std::string& target, const std::vector<std::string>& more = {},
                            const std::string& checkpoint = "FOLDER/run") {
  std::vector<std::string> words = {"--checkpoint", checkpoint, "--to", "FOLDER/" + target};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

INSTANTIATE_TEST_SUITE_P(
    Words, ExportRefusal,
    testing::Values(
        RefusedExport{"Ending", to("new.pt"), 2,
                      "new.pt: the file's ending says the format, and must be one of: .onnx, "
                      ".safetensors, .npz"},
        RefusedExport{"NoEnding", to("new"), 2, "the file's ending says the format"},
        RefusedExport{"NoTarget", {"--checkpoint", "FOLDER/run"}, 2, "--to is required"},
        RefusedExport{
            "NoCheckpoint", {"--to", "FOLDER/new.onnx"}, 2, "trainer export: no run is named"},
        RefusedExport{"EmptyRun", to("new.onnx", {}, "FOLDER/empty"), 5, "empty"},
        RefusedExport{"NoRun", to("new.onnx", {}, "FOLDER/nothing"), 5, "nothing"},
        RefusedExport{"NoCheckpointFile", to("new.onnx", {}, "FOLDER/text.h5"), 5, "text.h5"},
        RefusedExport{"DamagedCheckpoint", to("new.onnx", {}, "FOLDER/half.h5"), 5, "half.h5"},
        RefusedExport{"NaN", to("new.onnx", {}, "FOLDER/spoiled.h5"), 5,
                      "spoiled.h5: dense1.weight has a number that is not finite: element 5 is "
                      "nan"},
        RefusedExport{"NaNAsSafetensors", to("new.safetensors", {}, "FOLDER/spoiled.h5"), 5,
                      "dense1.weight has a number that is not finite"},
        RefusedExport{"NaNAsNpz", to("new.npz", {}, "FOLDER/spoiled.h5"), 5,
                      "dense1.weight has a number that is not finite"},
        RefusedExport{"Taken", to("taken.onnx"), 2,
                      "taken.onnx: is there already; name another file, or give --overwrite"},
        RefusedExport{"TakenWeights", to("taken.npz"), 2,
                      "taken.npz: is there already; name another file, or give --overwrite"},
        RefusedExport{"NamesOfTorchvision", to("new.npz", {"--names", "torchvision"}), 2,
                      "(here: --names pytorch, or --names spire)"},
        RefusedExport{"TheCheckpointItself",
                      {"--checkpoint", "FOLDER/taken.onnx", "--to", "FOLDER/taken.onnx"},
                      5,
                      "taken.onnx"},
        RefusedExport{
            "NoAverage", to("new.onnx", {"--ema"}), 5,
            "the checkpoint has no averaged weights, as its run did not set ema.decay; leave "
            "out --ema"},
        RefusedExport{"NoAverageOfWeights", to("new.npz", {"--ema"}), 5, "leave out --ema"},
        RefusedExport{"Both", to("new.onnx", {"--ema", "--no-ema"}), 2, "excludes"},
        RefusedExport{"Batch", to("new.onnx", {"--batch", "some"}), 2, "--batch"},
        RefusedExport{"BatchOfWeights", to("new.npz", {"--batch", "3"}), 2,
                      "--batch: means nothing for .npz, only for .onnx; leave it out"},
        RefusedExport{"Opset", to("new.onnx", {"--opset", "12"}), 2, "--opset"},
        RefusedExport{
            "NamesOfOnnx", to("new.onnx", {"--names", "spire"}), 2,
            "--names: means nothing for .onnx, only for .safetensors and .npz; leave it out"},
        RefusedExport{"NamesOfAnotherModel", to("new.safetensors", {"--names", "huggingface"}), 2,
                      "mlp"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
