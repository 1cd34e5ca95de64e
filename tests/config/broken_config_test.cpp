// Tests the messages for broken configs: place, key and remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/load_config.h>

namespace spire {
namespace {

using Strings = std::vector<std::string>;
using testing::HasSubstr;

struct Broken {
  std::string name;
  std::string yaml;
  Strings overrides;
  Strings fragments;

  friend std::ostream& operator<<(std::ostream& out, const Broken& broken) {
    return out << broken.yaml.substr(0, 100);
  }
};

std::string repeat(const std::string& piece, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += piece;
  return text;
}

std::string message_of(const std::string& yaml, const Strings& overrides) {
  try {
    parse_config({{"run.yaml", yaml}}, overrides);
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::config);
    EXPECT_EQ(error.exit_code(), 2);
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << yaml;
  return "";
}

const std::vector<Broken>& unknown_keys() {
  static const std::vector<Broken> cases = {
      {"Key",
       "seed: 1\nepoch: 3\n",
       {},
       {"run.yaml:2:1: epoch: unknown key; did you mean 'epochs'?"}},
      {"ForgottenLetter",
       "step: 3\n",
       {},
       {"run.yaml:1:1: step: unknown key; did you mean 'steps'?"}},
      {"BucketsForBucket",
       "buckets: {mib: 8}\n",
       {},
       {"run.yaml:1:1: buckets: unknown key; did you mean 'bucket'?"}},
      {"TimeoutForTimeouts",
       "timeout: {step: 8}\n",
       {},
       {"run.yaml:1:1: timeout: unknown key; did you mean 'timeouts'?"}},
      {"NestedKey",
       "optimizer:\n  lrr: 0.1\n",
       {},
       {"run.yaml:2:3: optimizer.lrr: unknown key; did you mean 'optimizer.lr'?"}},
      {"DeepKey",
       "data: {augment: {corp: 2}}\n",
       {},
       {"run.yaml:1:18: data.augment.corp: unknown key; did you mean 'data.augment.crop'?"}},
      {"WrongSection",
       "weight_decay: 0.1\n",
       {},
       {"run.yaml:1:1: weight_decay: unknown key; did you mean 'optimizer.weight_decay'?"}},
      {"SectionForKey",
       "lr: 0.1\n",
       {},
       {"run.yaml:1:5: lr: expected a map of keys, got '0.1'; did you mean 'optimizer.lr'?"}},
      {"Section",
       "optimzer:\n  lr: 0.1\n",
       {},
       {"run.yaml:1:1: optimzer: unknown key; did you mean 'optimizer'?"}},
      {"NothingNear",
       "frobnicate_quux: 1\n",
       {},
       {"run.yaml:1:1: frobnicate_quux: unknown key; trainer --help-config lists all keys"}},
      {"Override",
       "",
       {"optimizer.lrr=1"},
       {"command line: optimizer.lrr: unknown key; did you mean 'optimizer.lr'?"}},
      {"OverrideSection", "", {"optimzer.name=sgd"}, {"did you mean 'optimizer.name'?"}},
      {"DottedKey",
       "optimizer.lr: 0.1\n",
       {},
       {"run.yaml:1:1: optimizer.lr: keys in a file have no dots; nest it as optimizer:, then lr: "
        "below it, indented"}},
      {"MergeKey",
       "model: &m {name: cnn}\ndata:\n  <<: *m\n",
       {},
       {"run.yaml:3:3: data.<<: YAML merge keys are not supported; write the keys out"}},
      {"Duplicate",
       "seed: 1\nepochs: 2\nseed: 3\n",
       {},
       {"run.yaml:3:1: seed: given twice, first in line 1; remove one of them"}},
      {"DuplicateSection",
       "eval: {every_epochs: 1}\neval: {every_epochs: 2}\n",
       {},
       {"run.yaml:2:1: eval: given twice, first in line 1; remove one of them"}},
      {"ListAsKey",
       "? [a, b]\n: 1\n",
       {},
       {"run.yaml:1:3: expected the name of a key, got a list"}},
      {"NumberAsKey", "1: 2\n", {}, {"run.yaml:1:1: 1: unknown key"}},
      {"HugeKey", repeat("k", 5000) + ": 1\n", {}, {"run.yaml:1:5001", "not valid YAML"}},
      {"LongKey", repeat("k", 500) + ": 1\n", {}, {"run.yaml:1:1: kkkk", "kkk...: unknown key"}},
  };
  return cases;
}

const std::vector<Broken>& wrong_types() {
  static const std::vector<Broken> cases = {
      {"NumberWithTail",
       "optimizer:\n  lr: 0.1x\n",
       {},
       {"run.yaml:2:7: optimizer.lr: expected a finite number, got '0.1x'"}},
      {"DecimalComma",
       "optimizer:\n  lr: 0,1\n",
       {},
       {"run.yaml:2:7: optimizer.lr: expected a finite number"}},
      {"FractionForInteger",
       "batch_size: 1.5\n",
       {},
       {"run.yaml:1:13: batch_size: expected an integer in plain decimal digits, got '1.5'"}},
      {"ExponentForInteger",
       "steps: 1e6\n",
       {},
       {"run.yaml:1:8: steps: expected an integer", "'1e6'"}},
      {"Underscore",
       "batch_size: 1_000\n",
       {},
       {"run.yaml:1:13: batch_size: expected an integer", "'1_000'"}},
      {"Hexadecimal", "seed: 0x10\n", {}, {"run.yaml:1:7: seed: expected an integer", "'0x10'"}},
      {"LeadingZero",
       "batch_size: 0128\n",
       {},
       {"run.yaml:1:13: batch_size: expected an integer", "'0128'"}},
      {"IntegerOverflow",
       "steps: 9223372036854775808\n",
       {},
       {"run.yaml:1:8: steps: 9223372036854775808 is out of range; it must be an integer of at "
        "most 64 bits"}},
      {"NegativeSeed", "seed: -1\n", {}, {"run.yaml:1:7: seed:", "-1"}},
      {"Nan",
       "optimizer: {lr: .nan}\n",
       {},
       {"run.yaml:1:17: optimizer.lr: expected a finite number, got '.nan'"}},
      {"PlainNan", "optimizer: {lr: nan}\n", {}, {"expected a finite number, got 'nan'"}},
      {"Infinity", "optimizer: {lr: .inf}\n", {}, {"expected a finite number, got '.inf'"}},
      {"NumberOverflow",
       "optimizer: {lr: 1e999}\n",
       {},
       {"run.yaml:1:17: optimizer.lr: 1e999 is too large"}},
      {"NumberUnderflow", "optimizer: {lr: 1e-999}\n", {}, {"1e-999 is too large or too small"}},
      {"QuotedNumber",
       "batch_size: \"64\"\n",
       {},
       {"run.yaml:1:13: batch_size: expected an integer, got the quoted text '64'; remove the "
        "quotes"}},
      {"YesForTrue",
       "optimizer:\n  nesterov: yes\n",
       {},
       {"run.yaml:2:13: optimizer.nesterov: expected true or false, got 'yes'"}},
      {"NumberForElastic",
       "elastic: 1\n",
       {},
       {"run.yaml:1:10: elastic: expected true or false, got '1'"}},
      {"CapitalTrue", "optimizer: {nesterov: True}\n", {}, {"expected true or false, got 'True'"}},
      {"ListForNumber",
       "optimizer: {lr: [0.1]}\n",
       {},
       {"optimizer.lr: expected a finite number, got a list"}},
      {"MapForWord", "output: {a: b}\n", {}, {"run.yaml:1:9: output: expected a word, got a map"}},
      {"WordForSection",
       "model: cnn\n",
       {},
       {"run.yaml:1:8: model: expected a map of keys, got 'cnn'; did you mean 'model.name'?"}},
      {"ListForSection",
       "data:\n  - name: idx\n",
       {},
       {"run.yaml:2:3: data: expected a map of keys, got a list"}},
      {"WordForList",
       "model: {hidden: 64}\n",
       {},
       {"run.yaml:1:17: model.hidden: expected a list of integers, such as [64, 32], got '64'"}},
      {"WordInList",
       "model: {hidden: [64, wide]}\n",
       {},
       {"run.yaml:1:17: model.hidden: expected an integer", "'wide'"}},
      {"ListInList",
       "model: {hidden: [64, [1]]}\n",
       {},
       {"model.hidden: expected an integer, got a list"}},
      {"NoValue",
       "seed: 1\noptimizer:\n  lr:\n",
       {},
       {"run.yaml:3:3: optimizer.lr: the value is missing; expected a finite number"}},
      {"EmptyWord", "output: ''\n", {}, {"run.yaml:1:9: output: the value is empty"}},
      {"ZeroByte",
       "output: \"a\\0b\"\n",
       {},
       {"run.yaml:1:9: output: the value contains a zero byte; remove it"}},
      {"Tag", "batch_size: !!int 64\n", {}, {"batch_size: YAML tags are not supported"}},
      {"OverrideType",
       "",
       {"epochs=many"},
       {"command line: epochs: expected an integer", "'many'"}},
      {"OverrideEmpty", "", {"epochs="}, {"command line: epochs: the value is missing"}},
      {"OverrideWithoutValue",
       "",
       {"epochs"},
       {"command line: expected key.path=value, got 'epochs'"}},
      {"OverrideWithoutKey", "", {"=3"}, {"command line: expected key.path=value, got '=3'"}},
  };
  return cases;
}

const std::vector<Broken>& bad_values() {
  static const std::vector<Broken> cases = {
      {"NegativeEpochs",
       "epochs: -1\n",
       {},
       {"run.yaml:1:9: epochs: -1 is out of range; it must be in [0, 1000000]"}},
      {"ZeroBatch",
       "batch_size: 0\n",
       {},
       {"run.yaml:1:13: batch_size: 0 is out of range; it must be in [1, 1000000]"}},
      {"HugeBatch", "batch_size: 100000000000\n", {}, {"batch_size: 100000000000 is out of range"}},
      {"NegativeRate",
       "optimizer: {lr: -0.1}\n",
       {},
       {"optimizer.lr: -0.1 is out of range; it must be >= 0"}},
      {"MomentumOne",
       "optimizer: {momentum: 1}\n",
       {},
       {"optimizer.momentum: 1 is out of range; it must be in [0, 1)"}},
      {"ZeroEpsilon",
       "optimizer: {epsilon: 0}\n",
       {},
       {"optimizer.epsilon: 0 is out of range; it must be > 0"}},
      {"ZeroWidth",
       "model: {hidden: [64, 0]}\n",
       {},
       {"run.yaml:1:17: model.hidden: 0 is out of range"}},
      {"UnknownModel",
       "model: {name: resnte}\n",
       {},
       {"run.yaml:1:15: model.name: unknown value 'resnte'; must be one of: auto, linear, mlp, ",
        "; did you mean 'resnet'?"}},
      {"UnknownDataset",
       "data: {name: fashion-mnist}\n",
       {},
       {"must be one of: cifar10, cifar100, csv, fashion_mnist, ",
        "did you mean 'fashion_mnist'?"}},
      {"UnknownOnError",
       "data: {on_error: ignore}\n",
       {},
       {"run.yaml:1:18: data.on_error: unknown value 'ignore'; must be one of: stop, skip"}},
      {"UnknownCifarLabels",
       "data: {cifar100: {labels: both}}\n",
       {},
       {"data.cifar100.labels: unknown value 'both'; must be one of: fine, coarse"}},
      {"UnknownCsvWords",
       "data: {csv: {header: maybe, separator: \",\", task: classes}}\n",
       {},
       {"data.csv.header: unknown value 'maybe'; must be one of: auto, true, false",
        "data.csv.separator: unknown value ','; must be one of: auto, comma, semicolon, tab",
        "data.csv.task: unknown value 'classes'; must be one of: auto, class, value"}},
      {"SharesOutOfRange",
       "data: {csv: {test_share: 1}, tokens: {val_share: 0}}\n",
       {},
       {"data.csv.test_share: 1 is out of range; it must be in (0, 1)",
        "data.tokens.val_share: 0 is out of range; it must be in (0, 1)"}},
      {"SyntheticOutOfRange",
       "data: {synthetic: {kind: image, shape: [8, 0, 3], classes: 1, samples: 0, test_samples: "
       "-1}}\n",
       {},
       {"data.synthetic.kind: unknown value 'image'", "did you mean 'images'?",
        "data.synthetic.shape: 0 is out of range", "data.synthetic.classes: 1 is out of range",
        "data.synthetic.samples: 0 is out of range",
        "data.synthetic.test_samples: -1 is out of range"}},
      {"UnknownVocabulary",
       "data: {tokens: {vocabulary: chars, length: 0}}\n",
       {},
       {"data.tokens.vocabulary: unknown value 'chars'; must be one of: auto, bytes, characters, "
        "gpt2",
        "data.tokens.length: 0 is out of range"}},
      {"UnknownOptimizer",
       "optimizer: {name: rmsprop}\n",
       {},
       {"optimizer.name: unknown value 'rmsprop'; must be one of: sgd, adam, adamw, lars, lamb"}},
      {"NoTrust",
       "optimizer: {name: lars, trust_coefficient: 0}\n",
       {},
       {"run.yaml:1:44: optimizer.trust_coefficient: 0 is out of range; it must be > 0"}},
      {"EmaThatNeverMoves",
       "ema: {decay: 1}\n",
       {},
       {"run.yaml:1:14: ema.decay: 1 is out of range; it must be in [0, 1)"}},
      {"UnknownDecay",
       "optimizer: {decay: weights}\n",
       {},
       {"run.yaml:1:20: optimizer.decay: unknown value 'weights'; must be one of: all, matrices"}},
      {"UnknownSchedule", "schedule: {name: cosin}\n", {}, {"did you mean 'cosine'?"}},
      {"UnknownLoss", "loss: {name: L1}\n", {}, {"did you mean 'l1'?"}},
      {"UnknownPrecision",
       "precision: fp8\n",
       {},
       {"run.yaml:1:12: precision: unknown value 'fp8'; must be one of: fp32, bf16, fp16"}},
      {"UnknownStrategy",
       "strategy: mirror\n",
       {},
       {"run.yaml:1:11: strategy: unknown value 'mirror'; must be one of: parameter_device, "
        "mirrored, "
        "sharded; did you mean 'mirrored'?"}},
      {"UnknownReduction",
       "reduction: nccl\n",
       {},
       {"run.yaml:1:12: reduction: unknown value 'nccl'; must be one of: invariant, native"}},
      {"UnknownBatchNorm",
       "batch_norm: synced\n",
       {},
       {"run.yaml:1:13: batch_norm: unknown value 'synced'; must be one of: tower, sync; did you "
        "mean "
        "'sync'?"}},
      {"UnknownNormalization",
       "model: {normalization: batchnorm}\n",
       {},
       {"run.yaml:1:24: model.normalization: unknown value 'batchnorm'; must be one of: none, "
        "batch_norm; did you mean 'batch_norm'?"}},
      {"NormalizationWithoutConvolutions",
       "model: {name: mlp, normalization: batch_norm}\n",
       {},
       {"run.yaml:1:20: model.normalization: an mlp has no convolutions to normalize"}},
      {"ZeroBucket",
       "bucket: {mib: 0}\n",
       {},
       {"run.yaml:1:15: bucket.mib: 0 is out of range; it must be in (0, 4096]"}},
      {"HugeBucket",
       "bucket: {first_mib: 4096.5}\n",
       {},
       {"run.yaml:1:21: bucket.first_mib: 4096.5 is out of range; it must be in (0, 4096]"}},
      {"NegativeReplicaCheck",
       "check: {replicas_every: -1}\n",
       {},
       {"run.yaml:1:25: check.replicas_every: -1 is out of range"}},
      {"NoTimeForTheStart",
       "timeouts: {start: 0}\n",
       {},
       {"run.yaml:1:19: timeouts.start: 0 is out of range; it must be in (0,"}},
      {"NegativeStepTime",
       "timeouts: {step: -1}\n",
       {},
       {"run.yaml:1:18: timeouts.step: -1 is out of range"}},
      {"EndlessCheckpoint",
       "timeouts: {checkpoint: .inf}\n",
       {},
       {"run.yaml:1:24: timeouts.checkpoint: expected a finite number, got '.inf'"}},
      {"NoSilence",
       "timeouts: {silence: 0}\n",
       {},
       {"run.yaml:1:21: timeouts.silence: 0 is out of range"}},
      {"Depth",
       "model:\n  depth: 21\n  name: resnet\n",
       {},
       {"run.yaml:2:3: model.depth: 21 is not a depth of a ResNet for CIFAR",
        "use 6n+2, such as 20 or 26"}},
      {"DepthForImagenet",
       "model: {name: resnet, variant: imagenet}\n",
       {},
       {"run.yaml:1:9: model.depth: 20 is not a depth of a ResNet for ImageNet; use 18, 34, 50 or "
        "101 (model.depth is not set, and its default is 20)"}},
      {"DepthOfVgg",
       "model: {name: vgg, depth: 12}\n",
       {},
       {"run.yaml:1:20: model.depth: 12 is not a depth of VGG; use 11, 13, 16 or 19"}},
      {"UnknownDevice", "devices: gpu\n", {}, {"run.yaml:1:10: devices: 'gpu' is not a device"}},
      {"DeviceIndex", "devices: [cuda:0, cuda:x]\n", {}, {"devices: 'cuda:x' cannot be in a list"}},
      {"DeviceTwice",
       "devices: [cpu:0, cpu:0]\n",
       {},
       {"run.yaml:1:10: devices: cpu:0 is in the list twice"}},
      {"AutoInList", "devices: [auto, cuda:0]\n", {}, {"'auto' cannot be in a list"}},
      {"NoDevices", "devices: []\n", {}, {"devices: the list of devices is empty"}},
      {"ParameterDevice",
       "parameter_device: cuda\n",
       {},
       {"parameter_device: 'cuda' is not a single device"}},
      {"BatchesDisagree",
       "batch_size: 64\nglobal_batch: 256\ntowers: 2\n",
       {},
       {"run.yaml:2:1: global_batch: 256 is not batch_size 64 x towers 2"}},
      {"BatchNotDivisible",
       "global_batch: 100\n",
       {"towers=3"},
       {"run.yaml:1:1: global_batch: 100 samples cannot be divided evenly among 3 towers"}},
      {"BatchNoMultiple",
       "batch_size: 64\nglobal_batch: 100\n",
       {},
       {"run.yaml:2:1: global_batch: 100 samples is not a multiple of batch_size 64"}},
      {"NothingToDo",
       "epochs: 0\n",
       {},
       {"run.yaml:1:1: epochs: the run would have 0 epochs and no steps"}},
      {"WarmupTooLong",
       "epochs: 2\nschedule:\n  warmup_epochs: 3\n",
       {},
       {"run.yaml:3:3: schedule.warmup_epochs: a warm-up of 3 epochs is longer than the run of 2 "
        "epochs"}},
      {"WarmupStepsTooMany",
       "steps: 10\nschedule: {warmup_steps: 11}\n",
       {},
       {"schedule.warmup_steps: a warm-up of 11 steps is longer than the run of 10 steps"}},
      {"MilestonesDescend",
       "schedule: {name: multistep, milestones: [5, 9, 7]}\n",
       {},
       {"run.yaml:1:41: schedule.milestones: 7 follows 9; the list must be strictly ascending"}},
      {"MilestoneTwice",
       "",
       {"schedule.name=multistep", "schedule.milestone_steps=[50, 50]"},
       {"command line: schedule.milestone_steps: 50 follows 50"}},
      {"MilestoneAtTheStart",
       "schedule: {name: multistep, milestones: [0, 9]}\n",
       {},
       {"schedule.milestones: 0 is out of range"}},
      {"NoMilestones",
       "schedule: {name: multistep}\n",
       {},
       {"run.yaml:1:12: schedule.name: multistep needs schedule.milestones or "
        "schedule.milestone_steps; set one of them"}},
      {"NegativeDropTime",
       "schedule: {name: step, step_steps: -1}\n",
       {},
       {"schedule.step_steps: -1 is out of range"}},
      {"UnknownScaling",
       "lr: {scaling: lienar}\n",
       {},
       {"run.yaml:1:15: lr.scaling: unknown value 'lienar'", "did you mean 'linear'?"}},
      {"NoBaseBatch", "lr: {base_batch: 0}\n", {}, {"lr.base_batch: 0 is out of range"}},
      {"PatienceWithoutEvaluations",
       "eval: {every_epochs: 0}\nearly_stop: {patience: 3}\n",
       {},
       {"run.yaml:2:14: early_stop.patience: early stopping needs evaluations during the run; set "
        "eval.every_epochs"}},
      {"NegativePatience", "early_stop: {patience: -1}\n", {}, {"patience: -1 is out of range"}},
      {"NegativeDelta", "early_stop: {min_delta: -1}\n", {}, {"min_delta: -1 is out of range"}},
      {"NegativeEvaluationSteps",
       "eval: {every_steps: -5}\n",
       {},
       {"run.yaml:1:21: eval.every_steps: -5 is out of range"}},
      {"MinimumAboveRate",
       "",
       {"schedule.min_lr=1"},
       {"command line: schedule.min_lr: 1 is above optimizer.lr 0.1"}},
      {"NesterovAlone",
       "optimizer: {momentum: 0, nesterov: true}\n",
       {},
       {"run.yaml:1:26: optimizer.nesterov: Nesterov momentum needs optimizer.momentum above 0"}},
  };
  return cases;
}

const std::vector<Broken>& bad_yaml() {
  static const std::vector<Broken> cases = {
      {"OpenBracket", "seed: 1\nmodel: {name: cnn\n", {}, {"run.yaml:", "not valid YAML"}},
      {"Indentation", "model:\n  name: cnn\n depth: 20\n", {}, {"run.yaml:3:2: not valid YAML"}},
      {"Tab", "model:\n\tname: cnn\n", {}, {"run.yaml:2:", "not valid YAML"}},
      {"UnknownAlias", "seed: *s\n", {}, {"run.yaml:1:", "not valid YAML", "anchor"}},
      {"TopLevelList",
       "- seed\n- 1\n",
       {},
       {"run.yaml:1:1: expected lines of the form key: value, got a list"}},
      {"TopLevelWord",
       "hello\n",
       {},
       {"run.yaml:1:1: expected lines of the form key: value, got 'hello'"}},
      {"TwoDocuments",
       "seed: 1\n---\nseed: 2\n",
       {},
       {"run.yaml:2:1: not valid YAML: text follows the end of the document"}},
      {"StrayBracket", "}\n", {}, {"run.yaml:1:1: not valid YAML"}},
      {"StrayAfterComment", "# only this\n,\n", {}, {"run.yaml:2:1: not valid YAML"}},
      {"BracketTooMany", "model: {name: cnn}\n}\n", {}, {"run.yaml:2:1: not valid YAML"}},
      {"CyclicAlias", "model: &m\n  name: *m\n", {}, {"model.name: expected a word, got a map"}},
      {"DeepList", repeat("[", 100000), {}, {"run.yaml:1:", "not valid YAML"}},
      {"DeepMap", repeat("{a: ", 20000), {}, {"run.yaml:1:", "not valid YAML"}},
      {"DeepBlockList", repeat("- ", 20000), {}, {"run.yaml:1:", "not valid YAML"}},
      {"AliasesOfAliases",
       "a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\nmodel: {hidden: *c}\n",
       {},
       {"run.yaml:1:1: a: unknown key", "model.hidden: expected an integer, got a list"}},
      {"TooLarge",
       repeat("# a line of no meaning\n", 60000),
       {},
       {"run.yaml: larger than 1048576 bytes"}},
      {"Binary",
       std::string("\x7f"
                   "ELF\x02\x01\x01\0\0\0",
                   10),
       {},
       {"run.yaml:1:1"}},
      {"OverrideSyntax", "", {"model.hidden=[64"}, {"command line: model.hidden: not valid YAML"}},
  };
  return cases;
}

class BrokenConfig : public testing::TestWithParam<Broken> {};

TEST_P(BrokenConfig, SaysWhereAndWhat) {
  std::string message = message_of(GetParam().yaml, GetParam().overrides);
  for (const std::string& fragment : GetParam().fragments)
    EXPECT_THAT(message, HasSubstr(fragment));
}

std::string case_name(const testing::TestParamInfo<Broken>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(UnknownKeys, BrokenConfig, testing::ValuesIn(unknown_keys()), case_name);
INSTANTIATE_TEST_SUITE_P(WrongTypes, BrokenConfig, testing::ValuesIn(wrong_types()), case_name);
INSTANTIATE_TEST_SUITE_P(BadValues, BrokenConfig, testing::ValuesIn(bad_values()), case_name);
INSTANTIATE_TEST_SUITE_P(BadYaml, BrokenConfig, testing::ValuesIn(bad_yaml()), case_name);

TEST(BrokenConfigs, AllProblemsAreReportedAtOnce) {
  std::string message =
      message_of("epoch: 3\noptimizer: {lr: fast, momentum: 2}\nseed: 1\nseed: 2\n",
                 {"precision=int8", "modle.name=cnn"});
  EXPECT_EQ(
      message,
      "run.yaml:1:1: epoch: unknown key; did you mean 'epochs'?\nrun.yaml:2:17: optimizer.lr: "
      "expected a finite number, got 'fast'\nrun.yaml:2:33: optimizer.momentum: 2 is out of range; "
      "it must be in [0, 1)\nrun.yaml:4:1: seed: given twice, first in line 3; remove one of "
      "them\ncommand line: precision: unknown value 'int8'; must be one of: fp32, bf16, "
      "fp16\ncommand line: modle.name: unknown key; did you mean 'model.name'?");
}

TEST(BrokenConfigs, EveryFileIsReadThoughOneIsBroken) {
  try {
    parse_config({{"a.yaml", "model: {"}, {"b.yaml", "sead: 1"}}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a.yaml:"));
    EXPECT_THAT(error.what(), HasSubstr("b.yaml:1:1: sead: unknown key; did you mean 'seed'?"));
  }
}

TEST(BrokenConfigs, ALongListOfProblemsIsCutOff) {
  std::string yaml;
  for (int i = 0; i < 5000; ++i) yaml += fmt::format("key{}: 1\n", i);
  std::string message = message_of(yaml, {});
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 200);
  EXPECT_THAT(message, HasSubstr("there are more problems; correct these first"));
}

// Every prefix, and every character exchanged for one that means something to YAML: each text is
// either a config or a config error.
TEST(BrokenConfigs, NoDamagedTextGetsPastTheErrors) {
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
  EXPECT_GT(refused, 500);
}

TEST(BrokenConfigs, UnreadableFiles) {
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
