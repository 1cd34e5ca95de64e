// Every model, loss, target and way to learn from another model, with all that draws random numbers
// or averages switched on, ends with one hash on any devices, in 2 processes and after a stop.
// Other files here have images with targets (image_targets_test) and tables (table_test).
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/data/images/png.h"
#include "tests/data/formats/tar_files.h"
#include "tests/data/numpy/npy_files.h"
#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

// A run of these words and, where that is not all, of those that `more` returns for `folder`, in
// which it may write data or train another model.
struct Course {
  std::string name;
  Words words;
  std::function<Words(const RunFolder& folder)> more = {};
  int64_t stop = 4;  // the step after which it is stopped and goes on
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
const Words class_weights = {"loss.class_weights=[1, 2, 0.5, 1.5]", "loss.label_smoothing=0.1"};
const Words words_of_text =
    test_tokens + Words{"model.blocks=1", "model.width=16", "model.heads=2"};

void write_npy(const std::filesystem::path& path, const std::string& shape,
               const std::vector<float>& values) {
  Bytes bytes = npy_bytes("<f4", shape, values);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

// Sequences of 6 steps of 3 features, and two labels of each, 0 or 1, or the sum over a sequence
// with outliers; 100 for training.
Words sequences(const RunFolder& folder, bool labels) {
  std::filesystem::path at = folder / "arrays";
  std::filesystem::create_directories(at);
  for (const auto& [part, count] : {std::pair{"train", 100}, {"test", 20}}) {
    std::vector<float> x, y;
    for (int n = 0; n < count; ++n) {
      float sum = 0;
      for (int i = 0; i < 18; ++i)
        sum += x.emplace_back(std::sin(static_cast<float>(n * n + 7 * i + n * i)));
      y.push_back(labels ? (sum > 0 ? 1.0f : 0.0f) : sum + (n % 10 == 0 ? 30.0f : 0.0f));
      y.push_back(labels ? (x.back() > 0 ? 1.0f : 0.0f) : -sum);
    }
    std::string name = part;
    write_npy(at / ("x_" + name + ".npy"), fmt::format("({}, 6, 3)", count), x);
    write_npy(at / ("y_" + name + ".npy"), fmt::format("({}, 2)", count), y);
  }
  return {"data.name=npy", "data.path=" + at.string(),
          "model.layers=[conv1d: {channels: 4, padding: same}, lstm: {units: 6, output: last}, "
          "dense: 2]"};
}

// Documents of 3 to 11 letters a.
Words packed_documents(const RunFolder& folder) {
  std::string lines;
  for (int i = 0; i < 40; ++i)
    lines +=
        fmt::format("{{\"body\": \"{}\"}}\n", std::string(static_cast<size_t>(3 + i % 9), 'a'));
  return {"data.name=tokens",
          "data.tokens.text=" + folder.write("all.jsonl", lines).string(),
          "data.tokens.field=body",
          "data.tokens.vocabulary=characters",
          "data.tokens.documents=packed",
          "data.tokens.length=16",
          "data.val.share=0.2",
          "batch_size=1",
          "eval.samples=1"};
}

// Three shards of 20 images of 12 x 12 in two classes: 54 for training, an epoch of 7 steps.
Words tar_shards(const RunFolder& folder, const std::string& order) {
  for (int shard = 0; shard < 3; ++shard) {
    std::vector<Bytes> members;
    for (int i = 20 * shard; i < 20 * (shard + 1); ++i) {
      PngImage image{12, 12, 3, std::vector<uint8_t>(12 * 12 * 3)};
      for (size_t p = 0; p < image.pixels.size(); ++p)
        image.pixels[p] = static_cast<uint8_t>(i % 2 * 90 + i + static_cast<int>(p * 31 % 80));
      write_png(folder / "image.png", image);
      members.push_back(tar_text(fmt::format("{:03}.png", i), content_of(folder / "image.png")));
      members.push_back(tar_text(fmt::format("{:03}.cls", i), std::to_string(i % 2)));
    }
    Bytes archive = tar_of(members);
    folder.write(fmt::format("shard-{}.tar", shard), {archive.begin(), archive.end()});
  }
  return {"data.name=webdataset",
          "data.path=" + (folder / "shard-{0..2}.tar").string(),
          "data.image.size=12",
          "data.image.fit=squash",
          "data.shuffle=" + order,
          "data.augment.rand_augment.count=2",
          "data.augment.erase.probability=0.5",
          "batch_size=2",
          "model.name=mlp",
          "model.hidden=[8]",
          "checkpoint.every_steps=5",
          "steps=17"};
}

Words taught(const RunFolder& folder, const Words& teacher, const Words& student) {
  Output output = trainer(folder.run("teacher", teacher + Words{"steps=3", "seed=5"}));
  EXPECT_EQ(output.code, 0) << output.err;
  return student + Words{"distill.from=" + (folder / "teacher").string(), "distill.temperature=2"};
}

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
      {"held_out_validation",
       test_cnn + Words{"data.val.share=0.2", "eval.metrics=[f1_macro, top5]"}},
      {"focal_loss", test_cnn + Words{"loss.name=focal", "loss.focal_gamma=1.5"} + class_weights},
      {"class_weights", test_cnn + class_weights},
      {"huber_of_sequences",
       {},
       [](const RunFolder& folder) {
         return sequences(folder, false) + Words{"loss.name=huber", "loss.huber_delta=0.5"};
       }},
      {"labels_of_sequences",
       {},
       [](const RunFolder& folder) {
         return sequences(folder, true) + Words{"loss.name=binary", "eval.metrics=[auc]"};
       }},
      {"a_teacher_of_mixed_images",
       {},
       [](const RunFolder& folder) {
         return taught(folder, test_cnn + Words{"model.normalization=batch_norm", "ema.decay=0.9"},
                       test_mlp + Words{"model.dropout=0.1", "loss.label_smoothing=0.1",
                                        "data.augment.mixup=0.4", "data.augment.cutmix=1"});
       }},
      {"a_teacher_of_tokens",
       {},
       [](const RunFolder& folder) {
         return taught(
             folder, words_of_text + Words{"model.name=llama", "adapt.lora.rank=2"},
             words_of_text + Words{"model.name=gpt", "model.dropout=0.1", "loss.z_loss=0.001"});
       }},
      {"adapters",
       words_of_text + Words{"model.name=llama", "adapt.lora.rank=2", "optimizer.name=adamw"}},
      {"packed_documents", Words{"model.name=llama"} + small_attention, packed_documents},
      // Step 10 is the third of the second epoch.
      {"tar_shards", {}, [](const RunFolder& f) { return tar_shards(f, "full"); }, 10},
      {"tar_shards_by_chunks", {}, [](const RunFolder& f) { return tar_shards(f, "chunk"); }, 10},
  };
}

class OneHash : public testing::TestWithParam<Course> {};

// Where models are what differs, the evaluation is of the averaged weights.
TEST_P(OneHash, OnAnyDevicesInProcessesAndAfterAStop) {
  RunFolder folder;
  const Course& course = GetParam();
  Words words = {"steps=9", "eval.every_epochs=0", "checkpoint.every_epochs=0",
                 "schedule.name=constant"};
  expect_one_hash(
      folder, words + course.words + (course.more ? course.more(folder) : Words{"ema.decay=0.9"}),
      course.stop);
}

INSTANTIATE_TEST_SUITE_P(Courses, OneHash, testing::ValuesIn(courses()),
                         [](const auto& test) { return test.param.name; });

TEST(Hash, TellsRunsApart) {
  RunFolder folder;
  auto run = [&](const std::string& name, const Words& more) {
    return printed_hash(trainer(folder.run(name, test_mlp + Words{"steps=3"} + more)));
  };
  std::string named = run("named", {"devices=[cpu:0, cpu:1, cpu:2]"});
  EXPECT_EQ(folder.summary("named")["devices"], Json::parse(R"(["cpu:0", "cpu:1", "cpu:2"])"));
  EXPECT_NE(run("another_seed", {"seed=8"}), named);
  EXPECT_NE(run("smaller", {"batch_size=4"}), named);
  EXPECT_EQ(run("chosen", {"batch_size=auto", "--processes", "2"}), named);
}

}  // namespace
}  // namespace spire
