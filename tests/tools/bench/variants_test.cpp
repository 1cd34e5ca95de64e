// Which variants a request makes, the config of each, and what is refused.
#include "tools/bench/runs/variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/load_config.h>

#include "tests/tools/small_data.h"
#include "tools/performance/tower_work.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Precision = RunConfig::Precision;
using Strategy = RunConfig::Strategy;

const BenchDevices eight_cores{.cores = {0, 1, 2, 3, 4, 5, 8, 9},
                               .why_no_gpu = "there is no driver"};
const BenchDevices four_gpus{.cores = {0}, .gpus = {"a", "b", "c", "d"}};

std::vector<int64_t> counts_of(const std::vector<Variant>& variants) {
  std::vector<int64_t> counts;
  for (const Variant& variant : variants) counts.push_back(variant.devices);
  return counts;
}

std::string refusal(const VariantRequest& request, const RunConfig& config,
                    const BenchDevices& devices) {
  try {
    make_variants(request, config, devices);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Variants, CountThePowersOfTwoAndAllDevices) {
  VariantRequest strong{.scaling = {Scaling::strong}};
  EXPECT_THAT(counts_of(make_variants(strong, {}, eight_cores)), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(counts_of(make_variants(strong, {}, four_gpus)), ElementsAre(1, 2, 4));
  BenchDevices six = eight_cores;
  six.cores.resize(6);
  EXPECT_THAT(counts_of(make_variants(strong, {}, six)), ElementsAre(1, 2, 4, 6));
  six.tower_threads = 4;  // a device has four cores, so that there is one
  EXPECT_THAT(counts_of(make_variants(strong, {}, six)), ElementsAre(1));
  EXPECT_EQ(make_variants(strong, {}, eight_cores)[0].kind, Kind::cpu);
  EXPECT_EQ(make_variants(strong, {}, four_gpus)[0].kind, Kind::cuda);
}

// strong: T towers on any n; weak: t n towers on n.
TEST(Variants, StrongKeepsTheTowersAndWeakMultipliesThem) {
  for (std::optional<int64_t> towers : {std::optional<int64_t>(), std::optional<int64_t>(12)}) {
    for (int64_t per_device : {1, 3}) {
      RunConfig config;
      config.towers = towers;
      VariantRequest request{.counts = {4, 1, 2, 2}, .towers_per_device = per_device};
      auto variants = make_variants(request, config, eight_cores);
      ASSERT_THAT(counts_of(variants), ElementsAre(1, 2, 4, 1, 2, 4));
      for (const Variant& variant : variants) {
        bool strong = variant.scaling == Scaling::strong;
        EXPECT_EQ(variant.towers, strong ? towers.value_or(4) : per_device * variant.devices);
      }
    }
  }
}

TEST(Variants, AreAllCombinationsOfWhatIsAsked) {
  VariantRequest request{.counts = {1, 2, 4},
                         .scaling = {Scaling::weak},
                         .precisions = {Precision::fp32, Precision::bf16},
                         .strategies = {Strategy::mirrored, Strategy::sharded},
                         .processes = {1, 2}};
  auto variants = make_variants(request, {}, eight_cores);
  // 1, 2, 4 in one process; 2, 4 in two processes, as two do not divide 1.
  EXPECT_EQ(variants.size(), 2u * 2 * (3 + 2));
  for (const Variant& variant : variants) EXPECT_EQ(variant.devices % variant.processes, 0);
  for (size_t i = 0; i < variants.size(); ++i)
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(variants[i] == variants[j]);
}

TEST(Variants, RunOnTheirDevicesAlone) {
  RunConfig config;
  config.parameter_device = "cuda:3";
  config.batch_size = 5;
  config.global_batch = 10;
  config.towers = 2;
  Variant two{.kind = Kind::cuda, .devices = 2, .processes = 2, .towers = 6};
  RunConfig run = config_of(two, config);
  EXPECT_THAT(run.devices, ElementsAre("cuda"));
  EXPECT_EQ(variant_gpus(two, four_gpus), "a,b");
  EXPECT_TRUE(variant_cores(two, four_gpus).empty());
  EXPECT_EQ(run.parameter_device, "auto");
  EXPECT_EQ(run.towers, 6);
  EXPECT_EQ(run.batch_size, 5);
  EXPECT_EQ(run.global_batch, std::nullopt);
  EXPECT_EQ(run.tower_threads, std::nullopt);

  Variant four{.kind = Kind::cpu,
               .devices = 4,
               .processes = 2,
               .towers = 4,
               .precision = Precision::bf16,
               .strategy = Strategy::sharded};
  run = config_of(four, config);
  EXPECT_THAT(run.devices, ElementsAre("2xcpu"));  // of each process
  EXPECT_EQ(run.tower_threads, 1);
  EXPECT_EQ(run.precision, Precision::bf16);
  EXPECT_EQ(run.strategy, Strategy::sharded);
  EXPECT_THAT(variant_cores(four, eight_cores), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(variant_gpus(four, eight_cores), "");
  BenchDevices wide = eight_cores;
  wide.tower_threads = 2;
  four.devices = 3;
  EXPECT_THAT(variant_cores(four, wide), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Variants, RefuseWhatCannotRun) {
  RunConfig two_towers, global, open;
  open.batch_size = 0;
  two_towers.towers = 2;
  global.global_batch = 64;
  struct {
    VariantRequest request;
    RunConfig config;
    BenchDevices devices;
    const char* message;
  } cases[] = {
      {{.counts = {1, 9}}, {}, eight_cores, "8 cores"},
      {{.counts = {5}}, {}, four_gpus, "4 GPUs; use at most 4"},
      {{.counts = {0, 1}}, {}, eight_cores, "use 1 or more"},
      {{.kind = Kind::cuda}, {}, eight_cores, "there is no driver; use --kind cpu"},
      {{.counts = {1, 4}, .scaling = {Scaling::strong}}, two_towers, eight_cores, "set towers=4"},
      {{.counts = {1, 2, 4}, .processes = {3}}, {}, eight_cores, "--counts 1, 2, 4"},
      {{.precisions = {Precision::fp16}}, {}, eight_cores, "fp16 needs GPUs"},
      {{}, global, eight_cores, "set batch_size or towers"},
      {{}, open, eight_cores, "batch_size: auto: a benchmark compares runs of one size"},
  };
  for (const auto& [request, config, devices, message] : cases)
    EXPECT_THAT(refusal(request, config, devices), HasSubstr(message));
  VariantRequest weak{.counts = {1, 4}, .scaling = {Scaling::weak}};
  EXPECT_EQ(refusal(weak, two_towers, eight_cores), "none");
}

// A config that `trainer init` drafts has as many towers as suit its batch.
TEST(Variants, LeaveStrongScalingOutWhereTowersAreTooFew) {
  RunConfig two_towers;
  two_towers.towers = 2;
  for (const Variant& variant : make_variants({.counts = {1, 4}}, two_towers, eight_cores))
    EXPECT_EQ(variant.scaling, Scaling::weak);
  EXPECT_EQ(make_variants({.counts = {1, 2}}, two_towers, eight_cores).front().scaling,
            Scaling::strong);
}

RunConfig built_in(const std::string& name) {
  return parse_config({built_in_model(name)}, {}).config;
}

// Parameters as in PyTorch's models of tools/bench. FLOPs: 2 per multiply-add of a dense layer
// forward, and twice that backward, but the first layer's input needs no gradient.
TEST(BuiltInModels, AreThoseOfTheComparison) {
  struct {
    const char* name;
    int64_t parameters, batch_size;
  } models[] = {{"mlp", 784 * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10, 64},
                {"cnn", 421642, 64},
                {"resnet50", 25557032, 8},
                {"gpt2", 124439808, 2}};
  for (const auto& [name, parameters, batch_size] : models) {
    TowerWork tower = tower_work(built_in(name));
    EXPECT_EQ(tower.parameters, parameters) << name;
    EXPECT_EQ(tower.batch, batch_size) << name;
  }
  EXPECT_EQ(tower_work(built_in("mlp")).flops_per_sample(),
            2 * (2 * 784 * 512 + 3 * (512 * 256 + 256 * 10)));
  EXPECT_EQ(built_in_models().size(), 6u);
  EXPECT_THROW(built_in_model("resnet51"), Error);
}

TEST(SyntheticData, HasTheFormOfTheConfigsData) {
  SmallData files;
  RunConfig images;
  images.data.name = "idx";
  images.data.path = files.folder / "";
  images.data.augment.crop = 2;
  use_synthetic_data(images);
  EXPECT_EQ(images.data.name, "synthetic");
  EXPECT_EQ(images.data.synthetic.kind, SyntheticConfig::Kind::images);
  EXPECT_THAT(images.data.synthetic.shape, ElementsAre(8, 8, 1));
  EXPECT_EQ(images.data.synthetic.classes, 4);
  EXPECT_EQ(images.data.augment, AugmentConfig());
}

TEST(SyntheticData, IsLeftAloneOrRefused) {
  RunConfig config = built_in("resnet20");
  DataConfig before = config.data;
  use_synthetic_data(config);  // stays as it is
  EXPECT_EQ(config.data.synthetic.samples, before.synthetic.samples);
  config.data = {};
  config.data.path = "/nonexistent";
  try {
    use_synthetic_data(config);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::data);
    EXPECT_THAT(error.what(), HasSubstr("data.name=synthetic"));
  }
}

}  // namespace
}  // namespace spire
