// Every model, with all that draws random numbers or averages switched on, ends with one hash on
// any devices and in 2 processes.
#include <gtest/gtest.h>

#include "tests/runs/one_hash/one_hash.h"

namespace spire {
namespace {

struct Course {
  std::string name;
  Words words;
};
void PrintTo(const Course& course, std::ostream* out) {
  *out << course.name;
}

const Words mixed = {"data.augment.crop=1", "data.augment.flip=true", "data.augment.mixup=0.4",
                     "data.augment.cutmix=1.0", "loss.label_smoothing=0.1"};
const Words augmented = {"data.augment.affine.rotate=10",
                         "data.augment.affine.translate=0.1",
                         "data.augment.affine.scale=0.1",
                         "data.augment.affine.shear=5",
                         "data.augment.rand_augment.count=2",
                         "data.augment.erase.probability=0.5",
                         "data.augment.random_resized_crop=true",
                         "data.image.size=14",
                         "data.image.eval_size=16"};
const Words test_tokens = {"data.name=synthetic",           "data.path=auto",
                           "data.synthetic.kind=tokens",    "data.synthetic.shape=[12]",
                           "data.synthetic.classes=11",     "data.synthetic.samples=300",
                           "data.synthetic.test_samples=20"};
const Words small_attention = {"model.blocks=2", "model.width=16", "model.heads=2",
                               "model.dropout=0.1", "memory.recompute=blocks"};

std::vector<Course> courses() {
  return {
      {"linear", Words{"model.name=linear"} + mixed},
      {"mlp", Words{"model.name=mlp", "model.hidden=[16]", "model.dropout=0.2"} + mixed},
      {"lenet", Words{"model.name=lenet", "data.name=synthetic", "data.path=auto",
                      "data.synthetic.shape=[28,28,1]", "data.synthetic.samples=300",
                      "data.synthetic.test_samples=20", "loss.label_smoothing=0.1"}},
      {"cnn", test_cnn + Words{"model.normalization=batch_norm"} + mixed},
      {"resnet", Words{"model.name=resnet", "model.depth=8", "memory.recompute=blocks"} + mixed},
      {"resnet_augmented", Words{"model.name=resnet", "model.depth=8"} + mixed + augmented},
      {"resnet_imagenet",
       Words{"model.name=resnet", "model.variant=imagenet", "model.depth=18", "data.name=synthetic",
             "data.path=auto", "data.synthetic.shape=[32,32,3]", "data.synthetic.samples=64",
             "data.synthetic.test_samples=4", "precision=bf16", "batch_size=2"}},
      {"vgg", Words{"model.name=vgg", "model.depth=11", "model.dropout=0.2", "data.name=synthetic",
                    "data.path=auto", "data.synthetic.shape=[32,32,3]", "data.synthetic.samples=64",
                    "data.synthetic.test_samples=4", "precision=bf16", "batch_size=2"}},
      {"unet", Words{"model.name=unet", "model.channels=[4,8]", "data.augment.flip=true"}},
      {"unet_noise", Words{"model.name=unet", "model.channels=[4,8]", "data.degrade.kind=noise",
                           "data.augment.crop=1"}},
      {"unet_downscale",
       Words{"model.channels=[4,8]", "data.degrade.kind=downscale", "data.augment.flip=true"}},
      {"autoencoder",
       Words{"model.name=autoencoder", "model.channels=[4,8]", "model.normalization=batch_norm",
             "data.augment.crop=1", "optimizer.name=adam", "optimizer.beta1=0.5"}},
      {"gpt", Words{"model.name=gpt", "optimizer.name=adamw", "optimizer.decay=matrices"} +
                  small_attention + test_tokens},
      {"llama", Words{"model.name=llama", "model.kv_heads=1", "loss.z_loss=0.001",
                      "optimizer.name=adamw", "optimizer.decay=matrices"} +
                    small_attention + test_tokens},
      {"vit",
       Words{"model.name=vit", "model.patch=4", "optimizer.name=lamb"} + small_attention + mixed},
      {"layers", Words{"model.layers=[conv2d: {channels: 4, kernel: 3}, batch_norm, relu, dropout: "
                       "{rate: 0.2}, global_avg_pool, dense: {units: classes}]"} +
                     mixed},
      {"layers_with_links",
       Words{"model.layers=[conv2d: {channels: 4, padding: 1, name: stem, activation: relu}, "
             "residual: [group_norm: 2, conv2d: {channels: 4, padding: 1}], concat: [stem, "
             "previous, input], flatten, dense: classes]",
             "memory.recompute=blocks"} +
           mixed},
      {"layers_that_recur",
       Words{"model.layers=[reshape: [8, -1], conv1d: {channels: 6, padding: same}, lstm: 5, "
             "dropout: 0.2, gru: {units: 7, output: last}, dense: classes]",
             "optimizer.name=adam"} +
           mixed},
  };
}

class EveryModel : public testing::TestWithParam<Course> {};

TEST_P(EveryModel, EndsWithOneHash) {
  RunFolder folder;
  // The evaluation is of the averaged weights.
  Words course = Words{"steps=9", "eval.every_epochs=0", "checkpoint.every_epochs=0",
                       "ema.decay=0.9", "schedule.name=constant"} +
                 GetParam().words;
  expect_one_hash(folder, "run", folder.run("run", course));
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, testing::ValuesIn(courses()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
