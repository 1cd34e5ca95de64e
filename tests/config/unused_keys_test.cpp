// Tests warnings about given keys that the config's model, data or optimizer does not use.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/load_config.h>

#include "engine/config/schema.h"
#include "tests/config/config_text.h"

namespace spire {
namespace {

TEST(UnusedKeys, WarnsOfGivenKeysThatAreNotUsed) {
  ResolvedConfig resolved = parse(
      "optimizer: {name: sgd, beta1: 0.8}\nschedule: {name: cosine, gamma: 0.1, min_lr: 0.01}\n",
      {"lr.base_batch=64"});
  EXPECT_EQ(
      resolved.warnings,
      (std::vector<std::string>{
          "run.yaml:1:24: optimizer.beta1 is not used with optimizer.name: sgd, only with adam, "
          "adamw, lamb",
          "command line: lr.base_batch is not used with lr.scaling: none, only with linear, sqrt",
          "run.yaml:2:26: schedule.gamma is not used with schedule.name: cosine, only with step, "
          "multistep"}));
}

// auto is a loss of the data's kind, and never one of these.
TEST(UnusedKeys, WarnsOfKeysOfLossesThatAutoNeverIs) {
  EXPECT_EQ(parse("loss: {huber_delta: 2, focal_gamma: 3}\n").warnings,
            (std::vector<std::string>{
                "run.yaml:1:24: loss.focal_gamma is not used with loss.name: auto, only with focal",
                "run.yaml:1:8: loss.huber_delta is not used with loss.name: auto, only with "
                "huber"}));
  EXPECT_TRUE(parse("loss: {name: huber, huber_delta: 2}\n").warnings.empty());
}

TEST(UnusedKeys, DoesNotWarnOfDefaultsAndUsedKeys) {
  EXPECT_TRUE(parse("").warnings.empty());
  EXPECT_TRUE(
      parse("optimizer: {name: lamb, beta1: 0.8, beta2: 0.9, epsilon: 1.0e-6}\n").warnings.empty());
  EXPECT_TRUE(parse("optimizer: {momentum: 0.8, nesterov: true}\n",
                    {"schedule.name=multistep", "schedule.milestones=[5]"})
                  .warnings.empty());
  ResolvedConfig later = parse("optimizer: {name: adam, momentum: 0.8}\n", {"optimizer.name=lars"});
  EXPECT_TRUE(later.warnings.empty());
}

TEST(UnusedKeys, WarnsOfKeysOfOtherModels) {
  EXPECT_EQ(parse("model: {name: linear, hidden: [8]}\n", {"model.patch=4"}).warnings,
            (std::vector<std::string>{
                "run.yaml:1:23: model.hidden is not used with model.name: linear, only with mlp, "
                "cnn, autoencoder",
                "command line: model.patch is not used with model.name: linear, only with vit"}));
  // A list of layers is a model, too.
  EXPECT_EQ(
      parse("model: {depth: 20, layers: [relu]}\n").warnings,
      std::vector<std::string>{
          "run.yaml:1:9: model.depth is not used with model.name: layers, only with resnet, vgg"});
}

TEST(UnusedKeys, WarnsOfKeysOfOtherData) {
  EXPECT_EQ(parse("data: {name: tokens, tokens: {length: 8}, mean: [0.5]}\n",
                  {"data.csv.target=price", "data.synthetic.classes=4"})
                .warnings,
            (std::vector<std::string>{
                "run.yaml:1:43: data.mean is not used with data.name: tokens, only with cifar10, "
                "cifar100, fashion_mnist, hdf5, idx, image_folder, image_pairs, npy, webdataset",
                "command line: data.csv.target is not used with data.name: tokens, only with csv",
                "command line: data.synthetic.classes is not used with data.name: tokens, only "
                "with synthetic"}));
}

struct Owner {
  std::string key, value;           // a key that only some models or datasets use
  std::vector<std::string> owners;  // their names

  friend std::ostream& operator<<(std::ostream& out, const Owner& owner) {
    return out << owner.key;
  }
};

// Gives a key to each model or dataset: those that use it give no warning, all others one.
class KeyOwners : public testing::TestWithParam<Owner> {};

TEST_P(KeyOwners, AreSilentAndOthersWarn) {
  const auto& [key, value, owners] = GetParam();
  std::string name = key.starts_with("data.") ? "data.name" : "model.name";
  for (const std::string& word : find_field(name)->choices) {
    std::vector<std::string> words = {name + "=" + word};
    if (word == "layers") words.push_back("model.layers=[relu]");
    if (word == "vgg") words.push_back("model.depth=16");  // the default makes none
    if (word != "vgg" || key != "model.depth") words.push_back(key + "=" + value);
    std::vector<std::string> expected;
    if (word != "auto" && std::ranges::count(owners, word) == 0)  // auto may be any of them
      expected.push_back(fmt::format("command line: {} is not used with {}: {}, only with {}", key,
                                     name, word, fmt::join(owners, ", ")));
    EXPECT_EQ(parse("", words).warnings, expected) << word;
  }
}

const std::vector<std::string> images = {"cifar10",     "cifar100", "fashion_mnist",
                                         "hdf5",        "idx",      "image_folder",
                                         "image_pairs", "npy",      "webdataset"};
INSTANTIATE_TEST_SUITE_P(
    UnusedKeys, KeyOwners,
    testing::Values(
        Owner{"model.hidden", "[8]", {"mlp", "cnn", "autoencoder"}},
        Owner{"model.channels", "[8]", {"cnn", "unet", "autoencoder"}},
        Owner{"model.depth", "20", {"resnet", "vgg"}}, Owner{"model.variant", "cifar", {"resnet"}},
        Owner{"model.shortcut", "identity", {"resnet"}},
        Owner{"model.dropout", "0.5", {"mlp", "cnn", "vgg", "gpt", "vit", "llama"}},
        Owner{"model.normalization", "none", {"cnn", "vgg", "unet", "autoencoder"}},
        Owner{"model.upsample", "resize", {"unet", "autoencoder"}},
        Owner{"model.output_activation", "sigmoid", {"unet", "autoencoder"}},
        Owner{"model.size", "auto", {"gpt", "vit", "llama"}},
        Owner{"model.blocks", "2", {"gpt", "vit", "llama"}},
        Owner{"model.width", "8", {"gpt", "vit", "llama"}},
        Owner{"model.heads", "2", {"gpt", "vit", "llama"}},
        Owner{"model.context", "64", {"gpt", "llama"}}, Owner{"model.patch", "4", {"vit"}},
        Owner{"model.kv_heads", "2", {"llama"}}, Owner{"model.mlp_width", "8", {"llama"}},
        Owner{"model.rope_theta", "500", {"llama"}}, Owner{"model.tied_head", "true", {"llama"}},
        Owner{"batch_norm", "sync", {"cnn", "resnet", "vgg", "unet", "autoencoder", "layers"}},
        Owner{"data.path",
              "x",
              {"cifar10", "cifar100", "csv", "fashion_mnist", "hdf5", "idx", "image_folder",
               "image_pairs", "npy", "tokens", "webdataset"}},
        Owner{"data.val.path",
              "x",
              {"cifar10", "cifar100", "csv", "fashion_mnist", "hdf5", "idx", "image_folder",
               "image_pairs", "npy", "tokens", "webdataset"}},
        Owner{"data.on_error",
              "skip",
              {"csv", "hdf5", "image_folder", "image_pairs", "npy", "tokens", "webdataset"}},
        Owner{"data.normalize", "unit", images}, Owner{"data.mean", "[0.5]", images},
        Owner{"data.stddev", "[0.5]", images}, Owner{"data.cifar100.labels", "fine", {"cifar100"}},
        Owner{"data.csv.header", "true", {"csv"}}, Owner{"data.csv.separator", "tab", {"csv"}},
        Owner{"data.csv.target", "x", {"csv"}}, Owner{"data.csv.task", "class", {"csv"}},
        Owner{"data.csv.test_share", "0.5", {"csv"}}, Owner{"data.csv.ignore", "id", {"csv"}},
        Owner{"data.csv.categories", "refuse", {"csv"}}, Owner{"data.csv.max_levels", "4", {"csv"}},
        Owner{"data.csv.decimal", "comma", {"csv"}}, Owner{"data.csv.dates", "day_first", {"csv"}},
        Owner{"data.csv.missing", "['-']", {"csv"}}, Owner{"data.csv.blanks", "zero", {"csv"}},
        Owner{"data.csv.scale_target", "false", {"csv"}},
        Owner{"data.synthetic.kind", "tokens", {"synthetic"}},
        Owner{"data.synthetic.shape", "[8]", {"synthetic"}},
        Owner{"data.synthetic.classes", "4", {"synthetic"}},
        Owner{"data.synthetic.samples", "4", {"synthetic"}},
        Owner{"data.synthetic.test_samples", "4", {"synthetic"}},
        Owner{"data.tokens.length", "8", {"tokens"}}, Owner{"data.tokens.text", "x", {"tokens"}},
        Owner{"data.tokens.vocabulary", "bytes", {"tokens"}},
        Owner{"data.tokens.field", "x", {"tokens"}},
        Owner{"data.tokens.documents", "packed", {"tokens"}},
        Owner{"data.tokens.bpe_path", "x", {"tokens"}},
        Owner{"data.tokens.val_share", "0.5", {"tokens"}},
        Owner{"data.hdf5.cache_mib", "8", {"hdf5"}}, Owner{"data.hdf5.train.input", "x", {"hdf5"}},
        Owner{"data.hdf5.train.target", "x", {"hdf5"}}, Owner{"data.hdf5.task", "value", {"hdf5"}},
        Owner{"data.hdf5.test.input", "x", {"hdf5"}}, Owner{"data.hdf5.test.target", "x", {"hdf5"}},
        Owner{"data.npy.task", "value", {"npy"}}, Owner{"data.npy.test_share", "0.5", {"npy"}},
        Owner{"data.npy.train.input", "a", {"npy"}}, Owner{"data.npy.train.target", "b", {"npy"}},
        Owner{"data.npy.test.input", "c", {"npy"}}, Owner{"data.npy.test.target", "d", {"npy"}},
        Owner{"data.image.size", "64", images}, Owner{"data.image.eval_size", "64", images},
        Owner{"data.image.fit", "pad", images}, Owner{"data.pairs.target", "mask", {"image_pairs"}},
        Owner{"data.pairs.classes", "4", {"hdf5", "image_pairs", "npy"}},
        Owner{"data.pairs.ignore_label", "-1", {"hdf5", "image_pairs", "npy"}},
        Owner{"data.pairs.test_share", "0.5", {"image_pairs"}},
        Owner{"data.image.test_share", "0.2", {"image_folder", "webdataset"}},
        Owner{"data.degrade.kind",
              "none",
              {"cifar10", "cifar100", "fashion_mnist", "hdf5", "idx", "image_folder", "image_pairs",
               "npy", "webdataset", "synthetic"}},
        Owner{"data.augment.crop", "1", images}, Owner{"data.augment.flip", "true", images},
        Owner{"data.augment.mixup", "0.5", images}, Owner{"data.augment.cutmix", "0.5", images},
        Owner{"data.augment.color_jitter.brightness", "0.5", images},
        Owner{"data.augment.color_jitter.contrast", "0.5", images},
        Owner{"data.augment.color_jitter.saturation", "0.5", images},
        Owner{"data.augment.affine.rotate", "5", images},
        Owner{"data.augment.affine.translate", "0.5", images},
        Owner{"data.augment.affine.scale", "0.5", images},
        Owner{"data.augment.affine.shear", "5", images},
        Owner{"data.augment.rand_augment.count", "2", images},
        Owner{"data.augment.rand_augment.magnitude", "5", images},
        Owner{"data.augment.erase.probability", "0.5", images},
        Owner{"data.augment.erase.min_share", "0.1", images},
        Owner{"data.augment.erase.max_share", "0.5", images},
        Owner{"data.augment.random_resized_crop", "true", images},
        Owner{"data.augment.min_scale", "0.5", images}),
    [](const auto& owner) {
      std::string name = owner.param.key;
      std::ranges::replace(name, '.', '_');
      return name;
    });

TEST(UnusedKeys, TheProjectsConfigsHaveNone) {
  for (const auto& entry : std::filesystem::directory_iterator(CONFIGS_FOLDER)) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(load_config({entry.path()}, {}).warnings, std::vector<std::string>{}) << entry;
  }
}

}  // namespace
}  // namespace spire
