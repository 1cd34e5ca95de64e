// Every loss, target and way to learn from another model, ends with one hash on any devices and in
// 2 processes. Other files here have images with targets (image_targets_test), tables
// (table_test), packed documents, tar shards, and augmentation (every_model_test).
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/data/numpy/npy_bytes.h"
#include "tests/runs/one_hash/one_hash.h"

namespace spire {
namespace {

// Returns the words of a run in `folder`, for which it may write data or train another model.
struct Target {
  std::string name;
  std::function<Words(const RunFolder& folder)> words;
};
void PrintTo(const Target& target, std::ostream* out) {
  *out << target.name;
}

const Words class_weights = {"loss.class_weights=[1, 2, 0.5, 1.5]", "loss.label_smoothing=0.1"};
const Words words_of_text = {"data.name=synthetic",
                             "data.path=auto",
                             "data.synthetic.kind=tokens",
                             "data.synthetic.shape=[12]",
                             "data.synthetic.classes=11",
                             "data.synthetic.samples=300",
                             "model.blocks=1",
                             "model.width=16",
                             "model.heads=2",
                             "data.synthetic.test_samples=20"};

Target image_target(const std::string& name, const Words& more) {
  return {name, [more](const RunFolder&) { return test_cnn + more; }};
}

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

Words taught(const RunFolder& folder, const Words& teacher, const Words& student) {
  Output output = trainer(folder.run("teacher", teacher + Words{"steps=3", "seed=5"}));
  EXPECT_EQ(output.code, 0) << output.err;
  return student + Words{"distill.from=" + (folder / "teacher").string(), "distill.temperature=2"};
}

std::vector<Target> targets() {
  return {
      image_target("held_out_validation", {"data.val.share=0.2", "eval.metrics=[f1_macro, top5]"}),
      image_target("focal_loss", Words{"loss.name=focal", "loss.focal_gamma=1.5"} + class_weights),
      image_target("class_weights", class_weights),
      {"huber_of_sequences",
       [](const RunFolder& folder) {
         return sequences(folder, false) + Words{"loss.name=huber", "loss.huber_delta=0.5"};
       }},
      {"labels_of_sequences",
       [](const RunFolder& folder) {
         return sequences(folder, true) + Words{"loss.name=binary", "eval.metrics=[auc]"};
       }},
      {"a_teacher_of_mixed_images",
       [](const RunFolder& folder) {
         return taught(folder, test_cnn,
                       test_mlp + Words{"data.augment.mixup=0.4", "data.augment.cutmix=1"});
       }},
      {"a_teacher_of_tokens",
       [](const RunFolder& folder) {
         return taught(folder, words_of_text + Words{"model.name=llama"},
                       words_of_text + Words{"model.name=gpt", "model.dropout=0.1"});
       }},
      {"adapters",
       [](const RunFolder&) {
         return words_of_text +
                Words{"model.name=llama", "adapt.lora.rank=2", "optimizer.name=adamw"};
       }},
  };
}

class EveryTarget : public testing::TestWithParam<Target> {};

TEST_P(EveryTarget, EndsWithOneHash) {
  RunFolder folder;
  Words words =
      GetParam().words(folder) + Words{"steps=9", "eval.every_epochs=0",
                                       "checkpoint.every_epochs=0", "schedule.name=constant"};
  expect_one_hash(folder, "run", folder.run("run", words));
}

INSTANTIATE_TEST_SUITE_P(Targets, EveryTarget, testing::ValuesIn(targets()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
