#include "engine/config/check.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/transformer_sizes.h"
#include "engine/config/value.h"

namespace spire {

namespace {

// Describes the contradiction of global_batch, batch_size and towers; empty: they agree.
std::string batch_conflict(const RunConfig& config, int64_t towers) {
  if (*config.global_batch < 1 || towers < 1) return "";  // which their ranges refuse
  int64_t global = *config.global_batch, batch = batch_of_tower(global, towers);
  int64_t used = (global + batch - 1) / batch;
  if (used < towers) {
    return fmt::format(
        "{} samples leave {} of {} towers without any: all but the last that has some take equal "
        "shares, here {}, so that the result does not depend on which tower is where; use {} "
        "towers, or a global_batch of {} or {}",
        global, towers - used, towers, batch, used, towers * (batch - 1), (towers - 1) * batch + 1);
  }
  if (config.batch_size == 0 || batch == config.batch_size) return "";
  return fmt::format(
      "{} samples over {} are {} for each, not batch_size {}; make them agree, or leave out "
      "global_batch or batch_size",
      global, counted(towers, "tower"), batch, config.batch_size);
}

// model.layers and any other model exclude each other; with model.name: auto the layers win.
void layers_conflicts(const ModelConfig& model, std::vector<Problem>& problems) {
  if (model.name == "layers") {
    if (model.layers.empty())
      problems.push_back(
          {"model.layers", "the list is empty; list at least one layer", "model.name"});
  } else if (!model.layers.empty() && model.name != "auto") {
    problems.push_back(
        {"model.name", fmt::format("{} does not take model.layers; remove model.layers, "
                                   "or set model.name: layers",
                                   model.name)});
  }
}

// Describes a wrong model.depth; empty: the model comes in that depth.
std::string depth_conflict(const ModelConfig& model) {
  int64_t depth = model.depth;
  auto is_one_of = [depth](std::initializer_list<int64_t> depths) {
    return std::ranges::find(depths, depth) != depths.end();
  };
  if (model.name == "vgg" && !is_one_of({11, 13, 16, 19}))
    return fmt::format("{} is not a depth of VGG; use 11, 13, 16 or 19", depth);
  if (model.name != "resnet") return "";
  if (model.variant == ModelConfig::Variant::imagenet) {
    if (is_one_of({18, 34, 50, 101, 152})) return "";
    return fmt::format("{} is not a depth of a ResNet for ImageNet; use 18, 34, 50, 101 or 152",
                       depth);
  }
  // He et al. 2016: three stages of n blocks of two convolutions, a first one and a dense layer.
  if (depth % 6 == 2) return "";
  int64_t below = std::max<int64_t>(8, (depth - 2) / 6 * 6 + 2);
  return fmt::format("{} is not a depth of a ResNet for CIFAR; use 6n+2, such as {} or {}", depth,
                     below, below + 6);
}

// Describes a wrong model.size; empty: the model comes in that size.
std::string size_conflict(const ModelConfig& model) {
  const TransformerFamily* family = find_transformer_family(model.name);
  if (family == nullptr) return "";
  std::vector<std::string_view> sizes = {"auto"};
  for (const NamedSize& each : family->sizes) sizes.push_back(each.name);
  if (std::ranges::find(sizes, model.size) != sizes.end()) return "";
  return fmt::format("{} is not a size of a {}; use {} or {}", model.size, family->title,
                     fmt::join(sizes.begin(), sizes.end() - 1, ", "), sizes.back());
}

void model_conflicts(const ModelConfig& model, std::vector<Problem>& problems) {
  if (std::string text = depth_conflict(model); !text.empty())
    problems.push_back({"model.depth", text, "model.name"});
  if (model.name == "mlp" && model.normalization != ModelConfig::Normalization::none) {
    problems.push_back({"model.normalization",
                        "an mlp has no convolutions to normalize; use none, or model.name: cnn"});
  }
  layers_conflicts(model, problems);
  if (std::string text = size_conflict(model); !text.empty())
    problems.push_back({"model.size", text, "model.name"});
}

void schedule_conflicts(const RunConfig& config, std::vector<Problem>& problems) {
  const ScheduleConfig& schedule = config.schedule;
  if (schedule.name == ScheduleConfig::Name::multistep && schedule.milestones.empty() &&
      schedule.milestone_steps.empty()) {
    problems.push_back(
        {"schedule.name",
         "multistep needs schedule.milestones or schedule.milestone_steps; set one of them"});
  }
  // With scaling the rate follows from the global batch, which is not known yet.
  if (config.lr.scaling == LrConfig::Scaling::none && schedule.min_lr > config.optimizer.lr) {
    problems.push_back(
        {"schedule.min_lr", fmt::format("{} is above optimizer.lr {}; use a smaller one",
                                        schedule.min_lr, config.optimizer.lr)});
  }
}

// precision: exact trains some models, by some losses, from samples that do not depend on a tower.
void exact_conflicts(const RunConfig& config, std::vector<Problem>& problems) {
  if (config.precision != RunConfig::Precision::exact) return;
  const AugmentConfig& augment = config.data.augment;
  auto refuse_if = [&](bool is_set, const char* key, const char* why) {
    if (is_set)
      problems.push_back(
          {key, fmt::format("precision: exact {}; leave one of them out", why), "precision"});
  };
  const char* pairs = "cannot mix samples: pairs are made within a tower";
  refuse_if(augment.mixup > 0, "data.augment.mixup", pairs);
  refuse_if(augment.cutmix > 0, "data.augment.cutmix", pairs);
  refuse_if(config.adapt.lora.rank > 0, "adapt.lora.rank", "has no adapters");
  refuse_if(config.distill.from != "none", "distill.from", "knows no teacher");
  refuse_if(!config.loss.class_weights.empty(), "loss.class_weights", "has no weights of classes");
  using Name = LossConfig::Name;
  bool known = config.loss.name == Name::automatic || config.loss.name == Name::cross_entropy ||
               config.loss.name == Name::mse || config.loss.name == Name::l1;
  refuse_if(!known, "loss.name", "takes cross_entropy, mse and l1");
}

}  // namespace

std::vector<Problem> find_conflicts(const RunConfig& config) {
  std::vector<Problem> problems;
  // Without towers this waits for the number of devices: settle_batch() checks it then.
  if (config.global_batch && config.towers) {
    std::string text = batch_conflict(config, *config.towers);
    if (!text.empty()) problems.push_back({"global_batch", text});
  }
  if (config.epochs == 0 && !config.steps) {
    problems.push_back(
        {"epochs",
         "the run would have 0 epochs and no steps; set epochs to at least 1, or set steps"});
  }
  schedule_conflicts(config, problems);
  if (config.early_stop.patience > 0 && config.eval.every_epochs == 0 &&
      config.eval.every_steps == 0) {
    problems.push_back({"early_stop.patience",
                        "early stopping needs evaluations during the run; set eval.every_epochs or "
                        "eval.every_steps"});
  }
  if (config.optimizer.name == OptimizerConfig::Name::sgd && config.optimizer.nesterov &&
      config.optimizer.momentum == 0) {
    problems.push_back(
        {"optimizer.nesterov", "Nesterov momentum needs optimizer.momentum above 0"});
  }
  if (config.data.val.share > 0 && config.data.val.path != "none") {
    problems.push_back(
        {"data.val.share", "data.val.path names validation data already; leave one of them out"});
  }
  const EraseConfig& erase = config.data.augment.erase;
  if (erase.min_share > erase.max_share) {
    problems.push_back(
        {"data.augment.erase.min_share",
         fmt::format("{} is above data.augment.erase.max_share {}; use a smaller one",
                     erase.min_share, erase.max_share)});
  }
  model_conflicts(config.model, problems);
  exact_conflicts(config, problems);
  return problems;
}

// A trial of a few steps is one that ends in the warm-up of the whole run.
std::vector<Problem> find_doubts(const RunConfig& config) {
  const ScheduleConfig& schedule = config.schedule;
  constexpr const char* text =
      "a warm-up of {} is longer than the run of {}, which ends before it reaches the learning "
      "rate; with a shorter one it would";
  // warmup_steps wins over warmup_epochs, and steps over epochs: only those that count are
  // compared.
  if (config.steps && schedule.warmup_steps > *config.steps)
    return {{"schedule.warmup_steps", fmt::format(text, counted(schedule.warmup_steps, "step"),
                                                  counted(*config.steps, "step"))}};
  if (!config.steps && config.epochs > 0 && schedule.warmup_steps == 0 &&
      schedule.warmup_epochs > static_cast<double>(config.epochs))
    return {{"schedule.warmup_epochs",
             fmt::format(text, fmt::format("{} epochs", schedule.warmup_epochs),
                         counted(config.epochs, "epoch"))}};
  return {};
}

void check_config(RunConfig& config) {
  std::vector<std::string> lines;
  // Collects all problems instead of stopping at the first.
  for (const Field& field : schema()) {
    try {
      check_value(field, config);
    } catch (const Error& error) {
      lines.push_back(fmt::format("{}: {}", field.path, error.what()));
    }
  }
  for (const Problem& problem : find_conflicts(config)) {
    lines.push_back(fmt::format("{}: {}", problem.path, problem.text));
  }
  if (!lines.empty()) fail(Category::config, "{}", fmt::join(lines, "\n"));
}

int64_t batch_of_tower(int64_t global_batch, int64_t towers) {
  return (global_batch + towers - 1) / towers;
}

bool evenly_divided(const RunConfig& config) {
  return !config.global_batch || !config.towers ||
         *config.global_batch == *config.towers * config.batch_size;
}

// Towers default to the number of devices; batch_size follows where only global_batch was given.
void settle_batch(RunConfig& config, int64_t default_towers) {
  if (config.batch_size == 0 && !(config.global_batch && config.towers))
    fail(Category::config,
         "batch_size: auto is chosen when a run starts, from the memory that is free then; write a "
         "number here (trainer plan shows what plans alone would choose)");
  bool derive = config.global_batch && (!config.towers || config.batch_size == 0);
  if (!config.towers) config.towers = default_towers;
  if (derive) config.batch_size = batch_of_tower(*config.global_batch, *config.towers);
  if (!config.global_batch) config.global_batch = config.batch_size * *config.towers;
  std::string conflict = batch_conflict(config, *config.towers);
  if (!conflict.empty()) fail(Category::config, "global_batch: {}", conflict);
}

}  // namespace spire
