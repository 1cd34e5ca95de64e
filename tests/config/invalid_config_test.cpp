// Tests the messages for invalid configs: place, key and remedy. Those of every key for another
// type, number or word are in every_key_test.cpp.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/config/schema.h"
#include "tests/config/config_text.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string repeat(const std::string& piece, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += piece;
  return text;
}

struct Refused {
  std::string yaml, says;
  std::string also = {};
};

void expect_refused(const std::vector<Refused>& cases) {
  for (const auto& [yaml, says, also] : cases) {
    SCOPED_TRACE(yaml.substr(0, 100));
    std::string message = message_of(yaml);
    EXPECT_THAT(message, StartsWith("run.yaml:"));
    EXPECT_THAT(message, HasSubstr(says));
    EXPECT_THAT(message, HasSubstr(also));
  }
}

TEST(InvalidConfigs, UnknownKeys) {
  expect_refused({
      {"seed: 1\nepoch: 3\n", "run.yaml:2:1: epoch: unknown key; did you mean 'epochs'?"},
      {"step: 3\n", "run.yaml:1:1: step: unknown key; did you mean 'steps'?"},
      {"buckets: {mib: 8}\n", "run.yaml:1:1: buckets: unknown key; did you mean 'bucket'?"},
      {"timeout: {step: 8}\n", "run.yaml:1:1: timeout: unknown key; did you mean 'timeouts'?"},
      {"optimizer:\n  lrr: 0.1\n",
       "run.yaml:2:3: optimizer.lrr: unknown key; did you mean 'optimizer.lr'?"},
      {"data: {augment: {corp: 2}}\n",
       "run.yaml:1:18: data.augment.corp: unknown key; did you mean 'data.augment.crop'?"},
      {"weight_decay: 0.1\n",
       "run.yaml:1:1: weight_decay: unknown key; did you mean 'optimizer.weight_decay'?"},
      {"lr: 0.1\n",
       "run.yaml:1:5: lr: expected a map of keys, got '0.1'; did you mean 'optimizer.lr'?"},
      {"optimzer:\n  lr: 0.1\n", "run.yaml:1:1: optimzer: unknown key; did you mean 'optimizer'?"},
      {"frobnicate_quux: 1\n",
       "run.yaml:1:1: frobnicate_quux: unknown key; trainer --help-config lists all keys"},
      {"optimizer.lr: 0.1\n",
       "run.yaml:1:1: optimizer.lr: keys in a file have no dots; nest it as optimizer:, then lr: "
       "below it, indented"},
      {"model: &m {name: cnn}\ndata:\n  <<: *m\n",
       "run.yaml:3:3: data.<<: YAML merge keys are not supported; write the keys out"},
      {"seed: 1\nepochs: 2\nseed: 3\n",
       "run.yaml:3:1: seed: given twice, first in line 1; remove one of them"},
      {"eval: {every_epochs: 1}\neval: {every_epochs: 2}\n",
       "run.yaml:2:1: eval: given twice, first in line 1; remove one of them"},
      {"? [a, b]\n: 1\n", "run.yaml:1:3: expected the name of a key, got a list"},
      {"1: 2\n", "run.yaml:1:1: 1: unknown key"},
      {repeat("k", 5000) + ": 1\n", "run.yaml:1:5001", "not valid YAML"},
      {repeat("k", 500) + ": 1\n", "run.yaml:1:1: kkkk", "kkk...: unknown key"},
  });
}

TEST(InvalidConfigs, WrongTypes) {
  expect_refused({
      {"optimizer:\n  lr: 0.1x\n",
       "run.yaml:2:7: optimizer.lr: expected a finite number, got '0.1x'"},
      {"optimizer:\n  lr: 0,1\n", "run.yaml:2:7: optimizer.lr: expected a finite number"},
      {"batch_size: 1.5\n",
       "run.yaml:1:13: batch_size: expected an integer in plain decimal digits, got '1.5'"},
      {"steps: 1e6\n", "run.yaml:1:8: steps: expected an integer", "'1e6'"},
      {"batch_size: 1_000\n", "run.yaml:1:13: batch_size: expected an integer", "'1_000'"},
      {"seed: 0x10\n", "run.yaml:1:7: seed: expected an integer", "'0x10'"},
      {"batch_size: 0128\n", "run.yaml:1:13: batch_size: expected an integer", "'0128'"},
      {"steps: 9223372036854775808\n",
       "run.yaml:1:8: steps: 9223372036854775808 is out of range; it must be an integer of at "
       "most 64 bits"},
      {"seed: -1\n", "run.yaml:1:7: seed:", "-1"},
      {"optimizer: {lr: .nan}\n",
       "run.yaml:1:17: optimizer.lr: expected a finite number, got '.nan'"},
      {"optimizer: {lr: nan}\n", "expected a finite number, got 'nan'"},
      {"optimizer: {lr: .inf}\n", "expected a finite number, got '.inf'"},
      {"timeouts: {checkpoint: .inf}\n",
       "run.yaml:1:24: timeouts.checkpoint: expected a finite number, got '.inf'"},
      {"optimizer: {lr: 1e999}\n", "run.yaml:1:17: optimizer.lr: 1e999 is too large"},
      {"optimizer: {lr: 1e-999}\n", "1e-999 is too large or too small"},
      {"max_time: 8 hours\n",
       "run.yaml:1:11: max_time: expected a finite number, got '8 hours'; durations are written "
       "as 500ms, 90s, 10m, 1h30m or 2d"},
      {"max_time: 30m1h\n", "run.yaml:1:11: max_time: expected a finite number, got '30m1h'"},
      {"batch_size: \"64\"\n",
       "run.yaml:1:13: batch_size: expected an integer, got the quoted text '64'; remove the "
       "quotes"},
      {"optimizer:\n  nesterov: yes\n",
       "run.yaml:2:13: optimizer.nesterov: expected true or false, got 'yes'"},
      {"elastic: 1\n", "run.yaml:1:10: elastic: expected true or false, got '1'"},
      {"optimizer: {nesterov: True}\n", "expected true or false, got 'True'"},
      {"optimizer: {lr: [0.1]}\n", "optimizer.lr: expected a finite number, got a list"},
      {"model: cnn\n",
       "run.yaml:1:8: model: expected a map of keys, got 'cnn'; did you mean 'model.name'?"},
      {"data:\n  - name: idx\n", "run.yaml:2:3: data: expected a map of keys, got a list"},
      {"model: {hidden: wide}\n",
       "run.yaml:1:17: model.hidden: expected a list of integers, such as [64, 32], got 'wide'"},
      {"model: {hidden: [64, wide]}\n", "run.yaml:1:17: model.hidden: expected an integer",
       "'wide'"},
      {"model: {hidden: [64, [1]]}\n", "model.hidden: expected an integer, got a list"},
      {"model: {hidden: [64, 0]}\n", "run.yaml:1:17: model.hidden: 0 is out of range"},
      {"output: ''\n", "run.yaml:1:9: output: the value is empty"},
      {"output: \"a\\0b\"\n", "run.yaml:1:9: output: the value contains a zero byte; remove it"},
      {"batch_size: !!int 64\n", "batch_size: YAML tags are not supported"},
      {"data: {name: fashion-mnist}\n", "must be one of: cifar10, cifar100, csv, fashion_mnist, ",
       "did you mean 'fashion_mnist'?"},
      {"loss: {name: L1}\n", "did you mean 'l1'?"},
      {"lr: {scaling: lienar}\n", "run.yaml:1:15: lr.scaling: unknown value 'lienar'",
       "did you mean 'linear'?"},
  });
}

TEST(InvalidConfigs, ValuesThatContradictEachOther) {
  expect_refused({
      {"model: {name: mlp, normalization: batch_norm}\n",
       "run.yaml:1:20: model.normalization: an mlp has no convolutions to normalize"},
      {"model:\n  depth: 21\n  name: resnet\n",
       "run.yaml:2:3: model.depth: 21 is not a depth of a ResNet for CIFAR; use 6n+2, such as 20 "
       "or 26"},
      {"model: {name: resnet, variant: imagenet}\n",
       "run.yaml:1:9: model.depth: 20 is not a depth of a ResNet for ImageNet; use 18, 34, 50, 101 "
       "or 152 (model.depth is not set, and its default is 20)"},
      {"model: {name: vgg, depth: 12}\n",
       "run.yaml:1:20: model.depth: 12 is not a depth of VGG; use 11, 13, 16 or 19"},
      {"devices: gpu\n", "run.yaml:1:10: devices: 'gpu' is not a device"},
      {"devices: [cuda:0, cuda:x]\n", "devices: 'cuda:x' cannot be in a list"},
      {"devices: [cpu:0, cpu:0]\n", "run.yaml:1:10: devices: cpu:0 is in the list twice"},
      {"devices: [auto, cuda:0]\n", "'auto' cannot be in a list"},
      {"devices: []\n", "devices: the list of devices is empty"},
      {"parameter_device: cuda\n", "parameter_device: 'cuda' is not a single device"},
      {"batch_size: 64\nglobal_batch: 256\ntowers: 2\n",
       "run.yaml:2:1: global_batch: 256 samples over 2 towers are 128 for each, not batch"},
      {"global_batch: 24\ntowers: 7\n",
       "run.yaml:1:1: global_batch: 24 samples leave 1 of 7 towers without any: all but the last "
       "that has some take equal shares, here 4, so that the result does not depend on which tower "
       "is where; use 6 towers, or a global_batch of 21 or 25"},
      {"batch_size: 64\nglobal_batch: 100\n",
       "run.yaml:2:1: global_batch: 100 samples over 2 towers are 50 for each, not batch_size"},
      {"epochs: 0\n", "run.yaml:1:1: epochs: the run would have 0 epochs and no steps"},
      {"schedule: {name: multistep, milestones: [5, 9, 7]}\n",
       "run.yaml:1:41: schedule.milestones: 7 follows 9; the list must be strictly ascending"},
      {"schedule: {name: multistep}\n",
       "run.yaml:1:12: schedule.name: multistep needs schedule.milestones or "
       "schedule.milestone_steps; set one of them"},
      {"eval: {every_epochs: 0}\nearly_stop: {patience: 3}\n",
       "run.yaml:2:14: early_stop.patience: early stopping needs evaluations during the run; set "
       "eval.every_epochs"},
      {"data: {augment: {erase: {min_share: 0.5}}}\n",
       "data.augment.erase.min_share: 0.5 is above data.augment.erase.max_share 0.33"},
      {"optimizer: {momentum: 0, nesterov: true}\n",
       "run.yaml:1:26: optimizer.nesterov: Nesterov momentum needs optimizer.momentum above 0"},
  });
}

TEST(InvalidConfigs, BadYaml) {
  expect_refused({
      {"seed: 1\nmodel: {name: cnn\n", "not valid YAML"},
      {"model:\n  name: cnn\n depth: 20\n", "run.yaml:3:2: not valid YAML"},
      {"model:\n\tname: cnn\n", "run.yaml:2:", "not valid YAML"},
      {"seed: *s\n", "run.yaml:1:", "anchor"},
      {"- seed\n- 1\n", "run.yaml:1:1: expected lines of the form key: value, got a list"},
      {"hello\n", "run.yaml:1:1: expected lines of the form key: value, got 'hello'"},
      {"seed: 1\n---\nseed: 2\n",
       "run.yaml:2:1: not valid YAML: text follows the end of the document"},
      {"}\n", "run.yaml:1:1: not valid YAML"},
      {"# only this\n,\n", "run.yaml:2:1: not valid YAML"},
      {"model: {name: cnn}\n}\n", "run.yaml:2:1: not valid YAML"},
      {"model: &m\n  name: *m\n", "model.name: expected a word, got a map"},
      {repeat("[", 100000), "run.yaml:1:", "not valid YAML"},
      {repeat("{a: ", 20000), "run.yaml:1:", "not valid YAML"},
      {repeat("- ", 20000), "run.yaml:1:", "not valid YAML"},
      {"a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\nmodel: {hidden: *c}\n",
       "run.yaml:1:1: a: unknown key", "model.hidden: expected an integer, got a list"},
      {repeat("# a line of no meaning\n", 60000), "run.yaml: larger than 1048576 bytes"},
      {std::string("\x7f"
                   "ELF\x02\x01\x01\0\0\0",
                   10),
       "run.yaml:1:1"},
  });
}

TEST(InvalidConfigs, WordsOfTheCommandLine) {
  for (const auto& [word, says] : std::vector<std::pair<std::string, std::string>>{
           {"optimizer.lrr=1", "optimizer.lrr: unknown key; did you mean 'optimizer.lr'?"},
           {"optimzer.name=sgd", "optimzer.name: unknown key; did you mean 'optimizer.name'?"},
           {"epochs=many", "epochs: expected an integer in plain decimal digits, got 'many'"},
           {"epochs=", "epochs: the value is missing"},
           {"epochs", "expected key.path=value, got 'epochs'"},
           {"=3", "expected key.path=value, got '=3'"},
           {"schedule.min_lr=1", "schedule.min_lr: 1 is above optimizer.lr 0.1"},
           {"schedule.milestone_steps=[50, 50]", "schedule.milestone_steps: 50 follows 50"},
           {"model.hidden=[64", "model.hidden: not valid YAML"}})
    EXPECT_THAT(message_of("", {word}), StartsWith("command line: " + says)) << word;
}

// The messages that every_key_test.cpp expects take these from the schema.
TEST(InvalidConfigs, BoundsAndWordsAreThese) {
  const std::string share = "in (0, 1)", seconds = "in (0, 1000000000]", mib = "in (0, 4096]";
  const std::string size = "in [1, 1000000]", count = "in [0, 1000000]";
  const std::string steps = "in [1, 1000000000000]", steps_or_0 = "in [0, 1000000000000]";
  for (const auto& [key, allowed] : std::vector<std::pair<std::string, std::string>>{
           {"epochs", count},
           {"early_stop.patience", count},
           {"batch_size", size},
           {"model.hidden", size},
           {"schedule.milestones", size},
           {"data.tokens.length", size},
           {"data.synthetic.shape", size},
           {"data.synthetic.classes", "in [2, 1000000]"},
           {"data.synthetic.samples", steps},
           {"data.synthetic.test_samples", steps},
           {"lr.base_batch", steps},
           {"check.replicas_every", steps_or_0},
           {"eval.every_steps", steps_or_0},
           {"schedule.step_steps", steps_or_0},
           {"optimizer.lr", ">= 0"},
           {"early_stop.min_delta", ">= 0"},
           {"optimizer.momentum", "in [0, 1)"},
           {"ema.decay", "in [0, 1)"},
           {"optimizer.epsilon", "> 0"},
           {"optimizer.trust_coefficient", "> 0"},
           {"bucket.mib", "in [0, 4096]"},
           {"bucket.first_mib", mib},
           {"timeouts.start", seconds},
           {"timeouts.step", seconds},
           {"timeouts.silence", seconds},
           {"data.csv.test_share", share},
           {"data.tokens.val_share", share},
           {"data.on_error", "stop, skip"},
           {"reduction_dtype", "fp32, bf16"},
           {"data.cifar100.labels", "fine, coarse"},
           {"data.csv.header", "auto, true, false"},
           {"data.csv.separator", "auto, comma, semicolon, tab, pipe, space"},
           {"data.csv.task", "auto, class, value"},
           {"data.tokens.vocabulary", "auto, bytes, characters, gpt2"},
           {"optimizer.name", "sgd, adam, adamw, lars, lamb"},
           {"optimizer.decay", "all, matrices"},
           {"precision", "fp32, bf16, fp16, exact"},
           {"strategy", "parameter_device, mirrored, sharded"},
           {"reduction", "invariant, native"},
           {"batch_norm", "tower, sync"},
           {"model.normalization", "none, batch_norm"}}) {
    const Field* field = find_field(key);
    ASSERT_NE(field, nullptr) << key;
    EXPECT_EQ(field->choices.empty() ? field->range.text()
                                     : fmt::format("{}", fmt::join(field->choices, ", ")),
              allowed)
        << key;
  }
}

TEST(InvalidConfigs, AllProblemsAreReportedAtOnce) {
  std::string message =
      message_of("epoch: 3\noptimizer: {lr: fast, momentum: 2}\nseed: 1\nseed: 2\n",
                 {"precision=int8", "modle.name=cnn"});
  EXPECT_EQ(
      message,
      "run.yaml:1:1: epoch: unknown key; did you mean 'epochs'?\nrun.yaml:2:17: optimizer.lr: "
      "expected a finite number, got 'fast'\nrun.yaml:2:33: optimizer.momentum: 2 is out of range; "
      "it must be in [0, 1)\nrun.yaml:4:1: seed: given twice, first in line 3; remove one of "
      "them\ncommand line: precision: unknown value 'int8'; must be one of: fp32, bf16, "
      "fp16, exact\ncommand line: modle.name: unknown key; did you mean 'model.name'?");
}

TEST(InvalidConfigs, EveryFileIsReadAfterAnInvalidOne) {
  try {
    parse_config({{"a.yaml", "model: {"}, {"b.yaml", "sead: 1"}}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a.yaml:"));
    EXPECT_THAT(error.what(), HasSubstr("b.yaml:1:1: sead: unknown key; did you mean 'seed'?"));
  }
}

TEST(InvalidConfigs, ALongListOfProblemsIsCutOff) {
  std::string yaml;
  for (int i = 0; i < 5000; ++i) yaml += fmt::format("key{}: 1\n", i);
  std::string message = message_of(yaml, {});
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 200);
  EXPECT_THAT(message, HasSubstr("there are more problems; correct these first"));
}

// Tries every prefix of a text, and every character replaced by each that has a meaning in YAML.
TEST(InvalidConfigs, DamagedTextIsAConfigOrAnError) {
  const std::string whole =
      "model: {name: mlp, hidden: [64, 32]}\noptimizer:\n  lr: 0.5 # rate\ndevices: 2xcpu\n";
  int refused = 0;
  auto read = [&](const std::string& text) {
    try {
      parse_config({{"run.yaml", text}}, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::config);
      EXPECT_THAT(error.what(), testing::StartsWith("run.yaml:"));
      ++refused;
    }
  };
  for (size_t i = 0; i < whole.size(); ++i) {
    read(whole.substr(0, i));
    for (char c : std::string("\0\t\n:-[]{}&*!|>'\"%@`,?#\xff", 23)) {
      std::string damaged = whole;
      damaged[i] = c;
      read(damaged);
    }
  }
  EXPECT_GT(refused, 500);  // the others are still configs
}

TEST(InvalidConfigs, UnreadableFiles) {
  try {
    load_config({testing::TempDir(), "/nonexistent/run.yaml"}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("is a folder; name a YAML file"));
    EXPECT_THAT(error.what(), HasSubstr("/nonexistent/run.yaml: cannot be read: No such file"));
  }
}

}  // namespace
}  // namespace spire
