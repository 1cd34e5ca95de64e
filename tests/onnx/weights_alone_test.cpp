// trainer export to safetensors and npz: the weights of the checkpoint, under the names asked for.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/checkpoint/checkpoint_file.h"
#include "tests/base/file_size_limit.h"
#include "tests/base/folder.h"
#include "tests/onnx/trained_run.h"

namespace spire {
namespace {

using testing::HasSubstr;

const std::vector<std::string> small_cnn = {"model.name=cnn", "model.channels=[4]",
                                            "model.hidden=[8]"};

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
    EXPECT_EQ(values_in(file, tensor.name), tensor.values) << tensor.name;
  }
  EXPECT_EQ(exported(run, "w.safetensors").code, 2);  // it is there already
  EXPECT_EQ(exported(run, "w.safetensors", {"--overwrite"}).code, 0);
}

// A zip archive names its files.
TEST(WeightsAlone, GoToNumPyToo) {
  TrainedRun run(small_cnn);
  Output output = exported(run, "w.npz");
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(content_of(run.folder / "w.npz"), HasSubstr("conv1.weight.npy"));
}

TEST(WeightsAlone, OfHuggingFaceBringAConfig) {
  TrainedRun run(
      {"model.name=vit", "model.patch=1", "model.blocks=1", "model.width=8", "model.heads=2"});
  Output output = exported(run, "model.safetensors");
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("config.json"));
  auto config = nlohmann::json::parse(content_of(run.folder / "config.json"));
  EXPECT_EQ(config["hidden_size"], 8);
  // A config.json with the same text is no obstacle; neither is written where the other cannot be.
  std::filesystem::remove(run.folder / "model.safetensors");
  EXPECT_EQ(exported(run, "model.safetensors").code, 0);
  std::filesystem::remove(run.folder / "model.safetensors");
  run.folder.write("config.json", R"({"model_type": "vit"})");
  EXPECT_EQ(exported(run, "model.safetensors").code, 2);
  EXPECT_FALSE(std::filesystem::exists(run.folder / "model.safetensors"));
  // A config.json of a model of another type is not replaced.
  EXPECT_EQ(exported(run, "model.safetensors", {"--overwrite"}).code, 0);
  run.folder.write("config.json", R"({"model_type": "bert"})");
  Output refused = exported(run, "model.safetensors", {"--overwrite"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("config.json: is there already, and is not of a model of the "
                                     "type \"vit\"; export to an empty folder"));
  EXPECT_THAT(content_of(run.folder / "config.json"), HasSubstr("bert"));
}

// The code for the device or the system, whatever the format, and no file.
TEST(WeightsAlone, AndModelsHaveOneCodeForAFullDisk) {
  TrainedRun run(small_cnn);
  for (const char* name : {"w.safetensors", "w.npz", "w.onnx"}) {
    FileSizeLimit limit(1000);
    Output output = exported(run, name);
    EXPECT_EQ(output.code, 3) << name << ": " << output.err;
    EXPECT_THAT(output.last_error_line(), HasSubstr("make room there, or name a file on another"));
    EXPECT_FALSE(std::filesystem::exists(run.folder / name));
    EXPECT_FALSE(std::filesystem::exists(run.folder / (std::string(name) + ".tmp")));
  }
}

TEST(WeightsAlone, OfOtherVocabulariesHaveNoEndToken) {
  WorkFolder folder;
  std::string text(2000, 'a');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 7);
  Output trained =
      trainer({"train", "data.name=tokens", "data.tokens.text=" + folder.write("t.txt", text),
               "data.tokens.vocabulary=characters", "data.tokens.length=8", "model.name=gpt",
               "model.blocks=1", "model.width=8", "model.heads=2", "devices=cpu", "tower_threads=1",
               "batch_size=4", "steps=2", "eval.every_epochs=0", "output=" + folder / "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  Output output =
      trainer({"export", "--checkpoint", folder / "run", "--to", folder / "model.safetensors"});
  ASSERT_EQ(output.code, 0) << output.err;
  auto config = nlohmann::json::parse(content_of(folder / "config.json"));
  EXPECT_EQ(config["vocab_size"], 7);
  EXPECT_TRUE(config.contains("bos_token_id") && config["bos_token_id"].is_null());
  EXPECT_TRUE(config.contains("eos_token_id") && config["eos_token_id"].is_null());
}

}  // namespace
}  // namespace spire
