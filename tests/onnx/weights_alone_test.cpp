// trainer export to safetensors and npz: the weights of the checkpoint, under the names asked for.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/checkpoint/checkpoint_file.h"
#include "engine/weights/files/safetensors_reader.h"
#include "tests/observe/reports.h"
#include "tests/onnx/trained_run.h"

namespace spire {
namespace {

using testing::HasSubstr;

const std::vector<std::string> small_cnn = {"model.name=cnn", "model.channels=[4]",
                                            "model.hidden=[8]"};

Output exported(const TrainedRun& run, const std::string& to,
                const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"export", "--checkpoint", run.run(), "--to", run.folder / to};
  words.insert(words.end(), more.begin(), more.end());
  return trainer(words);
}

TEST(WeightsAlone, HaveTheBitsOfTheCheckpointUnderItsNames) {
  TrainedRun run(small_cnn);
  Output output = exported(run, "w.safetensors", {"--names", "spire"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("spire"));
  SafetensorsReader file(run.folder / "w.safetensors");
  TrainingState state = read_checkpoint(run.checkpoint());
  std::vector<TensorEntry> found = file.groups()[0].tensors;
  EXPECT_EQ(found.size(), state.weights.size());
  for (const NamedTensor& tensor : state.weights) {
    auto place = std::ranges::find(found, tensor.name, &TensorEntry::name);
    ASSERT_NE(place, found.end()) << tensor.name;
    EXPECT_EQ(place->shape, tensor.shape);
    std::vector<float> values(tensor.values.size());
    file.read(0, static_cast<size_t>(place - found.begin()), 0, values);
    EXPECT_EQ(values, tensor.values) << tensor.name;
  }
  EXPECT_EQ(exported(run, "w.safetensors").code, 5);  // it is there already
  EXPECT_EQ(exported(run, "w.safetensors", {"--overwrite"}).code, 0);
}

// A zip archive names its files.
TEST(WeightsAlone, GoToNumPyToo) {
  TrainedRun run(small_cnn);
  Output output = exported(run, "w.npz");
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(file_text(run.folder / "w.npz"), HasSubstr("conv1.weight.npy"));
}

TEST(WeightsAlone, OfHuggingFaceBringAConfig) {
  TrainedRun run(
      {"model.name=vit", "model.patch=1", "model.blocks=1", "model.width=8", "model.heads=2"});
  Output output = exported(run, "model.safetensors");
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("config.json"));
  auto config = nlohmann::json::parse(file_text(run.folder / "config.json"));
  EXPECT_EQ(config["hidden_size"], 8);
  // Neither is written where the other cannot be.
  std::filesystem::remove(run.folder / "model.safetensors");
  EXPECT_EQ(exported(run, "model.safetensors").code, 2);
  EXPECT_FALSE(std::filesystem::exists(run.folder / "model.safetensors"));
}

}  // namespace
}  // namespace spire
