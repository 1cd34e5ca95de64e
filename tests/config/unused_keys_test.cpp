// Tests warnings about given keys that the config's model, data or optimizer does not use.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include <spire/load_config.h>

#include "engine/base/fail.h"
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

// Keys, each with a value, that only some models or datasets use, and the names of these.
struct Owners {
  std::vector<std::string> keys, owners;
};

// Gives a key to each model or dataset: those that use it give no warning, all others one.
void expect_silent_owners(const std::string& name, const Owners& group) {
  for (const std::string& given : group.keys) {
    std::string key = given.substr(0, given.find('='));
    for (const std::string& word : find_field(name)->choices) {
      std::vector<std::string> words = {name + "=" + word};
      if (word == "layers") words.push_back("model.layers=[relu]");
      if (word == "vgg") words.push_back("model.depth=16");  // the default makes none
      if (word != "vgg" || key != "model.depth") words.push_back(given);
      std::vector<std::string> expected;
      if (word != "auto" && std::ranges::count(group.owners, word) == 0)  // auto may be any of them
        expected.push_back(fmt::format("command line: {} is not used with {}: {}, only with {}",
                                       key, name, word, fmt::join(group.owners, ", ")));
      EXPECT_EQ(parse("", words).warnings, expected) << given << " " << word;
    }
  }
}

TEST(UnusedKeys, OfModelsAreThese) {
  const std::vector<Owners> groups = {
      {{"model.hidden=[8]"}, {"mlp", "cnn", "autoencoder"}},
      {{"model.channels=[8]"}, {"cnn", "unet", "autoencoder"}},
      {{"model.depth=20"}, {"resnet", "vgg"}},
      {{"model.variant=cifar", "model.shortcut=identity"}, {"resnet"}},
      {{"model.dropout=0.5"}, {"mlp", "cnn", "vgg", "gpt", "vit", "llama"}},
      {{"model.normalization=none"}, {"cnn", "vgg", "unet", "autoencoder"}},
      {{"model.upsample=resize", "model.output_activation=sigmoid"}, {"unet", "autoencoder"}},
      {{"model.size=auto", "model.blocks=2", "model.width=8", "model.heads=2"},
       {"gpt", "vit", "llama"}},
      {{"model.context=64"}, {"gpt", "llama"}},
      {{"model.patch=4"}, {"vit"}},
      {{"model.kv_heads=2", "model.mlp_width=8", "model.rope_theta=500", "model.tied_head=true"},
       {"llama"}},
      {{"batch_norm=sync"}, {"cnn", "resnet", "vgg", "unet", "autoencoder", "layers"}},
  };
  for (const Owners& group : groups) expect_silent_owners("model.name", group);
}

TEST(UnusedKeys, OfDatasetsAreThese) {
  const std::vector<std::string> images = {"cifar10",     "cifar100", "fashion_mnist",
                                           "hdf5",        "idx",      "image_folder",
                                           "image_pairs", "npy",      "webdataset"};
  std::vector<std::string> any_images = images;
  any_images.push_back("synthetic");
  const std::vector<Owners> groups = {
      {{"data.path=x", "data.val.path=x"},
       {"cifar10", "cifar100", "csv", "fashion_mnist", "hdf5", "idx", "image_folder", "image_pairs",
        "npy", "tokens", "webdataset"}},
      {{"data.on_error=skip"},
       {"csv", "hdf5", "image_folder", "image_pairs", "npy", "tokens", "webdataset"}},
      {{"data.cifar100.labels=fine"}, {"cifar100"}},
      {{"data.csv.header=true", "data.csv.separator=tab", "data.csv.target=x",
        "data.csv.task=class", "data.csv.test_share=0.5", "data.csv.ignore=id",
        "data.csv.categories=refuse", "data.csv.max_levels=4", "data.csv.decimal=comma",
        "data.csv.dates=day_first", "data.csv.missing=['-']", "data.csv.blanks=zero",
        "data.csv.scale_target=false"},
       {"csv"}},
      {{"data.synthetic.kind=tokens", "data.synthetic.shape=[8]", "data.synthetic.classes=4",
        "data.synthetic.samples=4", "data.synthetic.test_samples=4"},
       {"synthetic"}},
      {{"data.tokens.length=8", "data.tokens.text=x", "data.tokens.vocabulary=bytes",
        "data.tokens.field=x", "data.tokens.documents=packed", "data.tokens.bpe_path=x",
        "data.tokens.val_share=0.5"},
       {"tokens"}},
      {{"data.hdf5.cache_mib=8", "data.hdf5.train.input=x", "data.hdf5.train.target=x",
        "data.hdf5.task=value", "data.hdf5.test.input=x", "data.hdf5.test.target=x"},
       {"hdf5"}},
      {{"data.npy.task=value", "data.npy.test_share=0.5", "data.npy.train.input=a",
        "data.npy.train.target=b", "data.npy.test.input=c", "data.npy.test.target=d"},
       {"npy"}},
      {{"data.pairs.target=mask", "data.pairs.test_share=0.5"}, {"image_pairs"}},
      {{"data.pairs.classes=4", "data.pairs.ignore_label=-1"}, {"hdf5", "image_pairs", "npy"}},
      {{"data.image.test_share=0.2"}, {"image_folder", "webdataset"}},
      {{"data.degrade.kind=none"}, any_images},
      {{"data.normalize=unit",
        "data.mean=[0.5]",
        "data.stddev=[0.5]",
        "data.image.size=64",
        "data.image.eval_size=64",
        "data.image.fit=pad",
        "data.augment.crop=1",
        "data.augment.flip=true",
        "data.augment.mixup=0.5",
        "data.augment.cutmix=0.5",
        "data.augment.color_jitter.brightness=0.5",
        "data.augment.color_jitter.contrast=0.5",
        "data.augment.color_jitter.saturation=0.5",
        "data.augment.affine.rotate=5",
        "data.augment.affine.translate=0.5",
        "data.augment.affine.scale=0.5",
        "data.augment.affine.shear=5",
        "data.augment.rand_augment.count=2",
        "data.augment.rand_augment.magnitude=5",
        "data.augment.erase.probability=0.5",
        "data.augment.erase.min_share=0.1",
        "data.augment.erase.max_share=0.5",
        "data.augment.random_resized_crop=true",
        "data.augment.min_scale=0.5"},
       images},
  };
  for (const Owners& group : groups) expect_silent_owners("data.name", group);
}

TEST(UnusedKeys, TheProjectsConfigsHaveNone) {
  for (const auto& entry : std::filesystem::directory_iterator(CONFIGS_FOLDER)) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(load_config({entry.path()}, {}).warnings, std::vector<std::string>{}) << entry;
  }
}

}  // namespace
}  // namespace spire
