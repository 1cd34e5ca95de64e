// trainer export of a run with low-rank adapters: merged into the weights, or apart for PEFT.
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/checkpoint/checkpoint_file.h"
#include "tests/base/folder.h"
#include "tests/onnx/trained_run.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> adapted_mlp = {"model.name=mlp",     "model.hidden=[6]",
                                              "adapt.lora.rank=2",  "adapt.lora.patterns=[dense1]",
                                              "adapt.lora.alpha=3", "optimizer.lr=0.1"};

const NamedTensor& tensor_of(const TrainingState& state, const std::string& name) {
  auto found = std::ranges::find(state.weights, name, &NamedTensor::name);
  require(found != state.weights.end(), "no tensor '{}'", name);
  return *found;
}

TEST(ExportedAdapters, AreMergedIntoTheWeights) {
  TrainedRun run(adapted_mlp);
  Output output = exported(run, "w.safetensors", {"--names", "spire"});
  ASSERT_EQ(output.code, 0) << output.err;
  SafetensorsReader file(run.folder / "w.safetensors");
  EXPECT_EQ(file.groups()[0].tensors.size(), 4u);  // two layers
  TrainingState state = read_checkpoint(run.checkpoint());
  EXPECT_EQ(values_in(file, "dense2.weight"), tensor_of(state, "dense2.weight").values);
  const NamedTensor& weight = tensor_of(state, "dense1.weight");
  auto a = tensor_of(state, "dense1.lora_a.weight").values;
  auto b = tensor_of(state, "dense1.lora_b.weight").values;
  std::vector<float> merged = values_in(file, "dense1.weight");
  auto inputs = static_cast<size_t>(weight.shape[1]);
  double change = 0;
  for (size_t i = 0; i < merged.size(); ++i) {
    double product = 0;
    for (size_t r = 0; r < 2; ++r)
      product += double{b[i / inputs * 2 + r]} * double{a[r * inputs + i % inputs]};
    EXPECT_NEAR(merged[i], weight.values[i] + 1.5 * product, 1e-6);
    change = std::max(change, std::abs(product));
  }
  EXPECT_GT(change, 1e-4);
}

TEST(ExportedAdapters, GoApartAsPeftReadsThem) {
  TrainedRun run(adapted_mlp);
  Output output =
      exported(run, "adapter_model.safetensors", {"--lora", "apart", "--names", "spire"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("of 1 modules, rank 2"));
  SafetensorsReader file(run.folder / "adapter_model.safetensors");
  TrainingState state = read_checkpoint(run.checkpoint());
  EXPECT_EQ(file.groups()[0].tensors.size(), 2u);
  EXPECT_EQ(values_in(file, "base_model.model.dense1.lora_A.weight"),
            tensor_of(state, "dense1.lora_a.weight").values);
  EXPECT_EQ(values_in(file, "base_model.model.dense1.lora_B.weight"),
            tensor_of(state, "dense1.lora_b.weight").values);
  auto config = nlohmann::json::parse(content_of(run.folder / "adapter_config.json"));
  EXPECT_EQ(config["peft_type"], "LORA");
  EXPECT_EQ(config["r"], 2);
  EXPECT_EQ(config["lora_alpha"], 3.0);
  EXPECT_EQ(config["fan_in_fan_out"], false);
  EXPECT_THAT(config["target_modules"].get<std::vector<std::string>>(), ElementsAre("dense1"));
}

// PyTorch flattens images channel by channel, Spire pixel by pixel: 3 channels of 6 x 5.
TEST(ExportedAdapters, HaveTheirInputsInTheOrderOfTheNames) {
  TrainedRun run(adapted_mlp);
  Output output = exported(run, "a.safetensors", {"--lora", "apart", "--names", "pytorch"});
  ASSERT_EQ(output.code, 0) << output.err;
  SafetensorsReader file(run.folder / "a.safetensors");
  TrainingState state = read_checkpoint(run.checkpoint());
  auto ours = tensor_of(state, "dense1.lora_a.weight").values;
  auto theirs = values_in(file, "base_model.model.dense1.lora_A.weight");
  ASSERT_EQ(theirs.size(), 2u * 90);
  for (size_t r = 0; r < 2; ++r)
    for (size_t pixel = 0; pixel < 30; ++pixel)
      for (size_t c = 0; c < 3; ++c)
        EXPECT_EQ(theirs[r * 90 + c * 30 + pixel], ours[r * 90 + pixel * 3 + c]);
}

// Its qkv are three modules in Hugging Face's vit: each has A, and its rows of B.
TEST(ExportedAdapters, AreSharedOutToTheModulesOfALayer) {
  TrainedRun run({"model.name=vit", "model.patch=1", "model.blocks=1", "model.width=8",
                  "model.heads=2", "adapt.lora.rank=2", "adapt.lora.patterns=[\"*.qkv\"]",
                  "optimizer.lr=0.1"});
  Output output = exported(run, "adapter_model.safetensors", {"--lora", "apart"});
  ASSERT_EQ(output.code, 0) << output.err;
  SafetensorsReader file(run.folder / "adapter_model.safetensors");
  TrainingState state = read_checkpoint(run.checkpoint());
  auto b = tensor_of(state, "block1.attention.qkv.lora_b.weight").values;
  std::string key = "base_model.model.vit.encoder.layer.0.attention.attention.key";
  EXPECT_EQ(values_in(file, key + ".lora_A.weight"),
            tensor_of(state, "block1.attention.qkv.lora_a.weight").values);
  EXPECT_EQ(values_in(file, key + ".lora_B.weight"),
            std::vector<float>(b.begin() + 16, b.begin() + 32));
}

TEST(ExportedAdapters, RefusesWhatAdaptersDoNotHold) {
  TrainedRun plain({"model.name=mlp", "model.hidden=[6]"});
  Output output = exported(plain, "a.safetensors", {"--lora", "apart"});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("has no adapters, as its run had no adapt.lora"));
  auto words = adapted_mlp;
  words.push_back("freeze=[\"dense1.*\"]");
  TrainedRun beside(words);
  output = exported(beside, "a.safetensors", {"--lora", "apart"});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("has trained other weights beside its adapters"));
  output = exported(beside, "a.npz", {"--lora", "apart"});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("--lora apart: means nothing for .npz"));
  EXPECT_EQ(exported(beside, "a.npz").code, 0);
}

// A new run begins with the model that the adapters make.
TEST(ExportedAdapters, AreMergedWhereARunBeginsWithThem) {
  TrainedRun run(adapted_mlp);
  ASSERT_EQ(exported(run, "w.safetensors", {"--names", "spire"}).code, 0);
  TrainedRun next(
      {"model.name=mlp", "model.hidden=[6]", "init.from=" + run.run(), "optimizer.lr=1e-30"});
  SafetensorsReader file(run.folder / "w.safetensors");
  TrainingState state = read_checkpoint(next.checkpoint());
  EXPECT_EQ(tensor_of(state, "dense1.weight").values, values_in(file, "dense1.weight"));
}

}  // namespace
}  // namespace spire
