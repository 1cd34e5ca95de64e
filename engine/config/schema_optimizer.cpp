// Keys of the optimizer, averaged weights, loss scale and learning-rate schedule.
#include <algorithm>
#include <functional>

#include "engine/base/fail.h"
#include "engine/config/schema_parts.h"

namespace spire::schema_parts {

namespace {

// An epoch or step that is listed twice would count as two drops.
void check_ascending(const std::vector<int64_t>& values) {
  auto late = std::ranges::adjacent_find(values, std::greater_equal{});
  if (late == values.end()) return;
  fail(Category::config, "{} follows {}; the list must be strictly ascending", *(late + 1), *late);
}

// engine/update/formulas.h has the formulas.
std::vector<Field> rule_fields() {
  const Use with_momentum = {"optimizer.name", {"sgd", "lars"}};
  const Use with_moments = {"optimizer.name", {"adam", "adamw", "lamb"}};
  return {
      {KEY(optimizer.name,
           "update rule; where no key of optimizer is given: adam with data.name csv and tokens "
           "and synthetic features and tokens, else sgd")},
      {KEY(optimizer.lr,
           "learning rate, before warm-up, schedule and lr.scaling; not given: 0.1 with sgd, 0.001 "
           "with adam and adamw, 0.01 with lamb, 1 with lars"),
       .range = at_least(0)},
      {KEY(optimizer.lr_factors,
           "factors of the learning rate by patterns of parameters' names, such as {\"stem.*\": "
           "0.1}; the first pattern that matches counts, other parameters have 1; with 0 they stay "
           "as they are, as with `freeze`, which also saves their gradients"),
       .range = at_least(0, 1e6)},
      {KEY(optimizer.momentum, "factor of the previous steps in the momentum"),
       .range = fraction_range, .used_by = with_momentum},
      {KEY(optimizer.nesterov, "Nesterov momentum"), .used_by = {"optimizer.name", {"sgd"}}},
      {KEY(optimizer.weight_decay,
           "sgd, adam, lars: L2 penalty, added to the gradient; adamw, lamb: decoupled from it"),
       .range = at_least(0)},
      {KEY(optimizer.decay,
           "which weights decay: all, or only matrices, not biases or the gamma and beta of "
           "normalization")},
      {KEY(optimizer.decay_factors,
           "factors of weight_decay by patterns of parameters' names, as lr_factors has them, such "
           "as {\"embed.*\": 0}; besides `decay`"),
       .range = at_least(0, 1e6)},
      {KEY(optimizer.beta1, "decay of the running mean of the gradients"), .range = fraction_range,
       .used_by = with_moments},
      {KEY(optimizer.beta2, "decay of the running mean of the squared gradients"),
       .range = fraction_range, .used_by = with_moments},
      {KEY(optimizer.epsilon, "added to the denominator"), .range = above(0),
       .used_by = with_moments},
      // You et al., "Large Batch Training of Convolutional Networks", 2017.
      {KEY(optimizer.trust_coefficient,
           "size of a layer's step relative to the norm of its weights"),
       .range = above(0), .used_by = {"optimizer.name", {"lars"}}},
      // Pascanu et al., "On the difficulty of training recurrent neural networks", 2013.
      {KEY(optimizer.clip_norm,
           "largest norm of the whole gradient; larger ones are scaled down to it; 0: no clipping"),
       .range = at_least(0)},
  };
}

// Averaged weights: average = decay average + (1 - decay) weights, once a step.
std::vector<Field> ema_fields() {
  return {
      {KEY(ema.decay,
           "share of its old value that the moving average of the weights keeps in a step; "
           "evaluations use the average; 0: none"),
       .range = fraction_range},
      {KEY(ema.warmup, "after t steps the decay is at most (1 + t) / (10 + t)")},
  };
}

// Micikevicius et al., "Mixed Precision Training", 2018.
std::vector<Field> loss_scale_fields() {
  return {
      {KEY(loss_scale.initial,
           "factor of the loss in fp16, so that small gradients do not vanish; it adapts during "
           "the run"),
       .range = {.low = 1, .high = 1e9}},
      {KEY(loss_scale.minimum, "smallest value to which overflows lower it"),
       .range = {.low = 0, .high = 1e9, .low_open = true}},
      {KEY(loss_scale.growth_interval,
           "it doubles after this many steps in a row without overflow"),
       .range = at_least(1, 1e9), .unit = "steps"},
      {KEY(loss_scale.max_skips,
           "the run stops (exit 7) after this many steps in a row whose gradients overflowed"),
       .range = at_least(1, 1e9), .unit = "steps"},
  };
}

// engine/update/schedule.h has the formula of each schedule.
std::vector<Field> schedule_fields() {
  const Use in_step = {"schedule.name", {"step"}};
  const Use in_multistep = {"schedule.name", {"multistep"}};
  return {
      {KEY(lr.scaling,
           "optimizer.lr grows with the global batch: by global_batch / base_batch (linear), or "
           "its square root (sqrt)")},
      // Goyal et al., "Accurate, Large Minibatch SGD", 2017, scale linearly.
      {KEY(lr.base_batch, "global batch for which optimizer.lr is meant"),
       .range = at_least(1, max_steps), .unit = "samples",
       .used_by = {"lr.scaling", {"linear", "sqrt"}}},
      {KEY(schedule.name, "how the learning rate changes after the warm-up")},
      {KEY(schedule.warmup_epochs, "time during which the learning rate rises linearly"),
       .range = at_least(0, max_size), .unit = "epochs"},
      {KEY(schedule.warmup_steps, "the same in steps; used instead of warmup_epochs when above 0"),
       .range = at_least(0, max_steps), .unit = "steps"},
      {KEY(schedule.step_epochs, "time between two drops"), .range = above(0), .unit = "epochs",
       .used_by = in_step},
      {KEY(schedule.step_steps, "the same in steps; used instead of step_epochs when above 0"),
       .range = at_least(0, max_steps), .unit = "steps", .used_by = in_step},
      // The list in steps wins over that in epochs, as for the other pairs.
      {KEY(schedule.milestones, "epochs after which the learning rate drops, ascending"),
       .range = at_least(1, max_size), .unit = "epochs",
       .settle = [](C& c) { check_ascending(c.schedule.milestones); }, .used_by = in_multistep},
      {KEY(schedule.milestone_steps, "the same in steps; used instead of milestones when given"),
       .range = at_least(1, max_steps), .unit = "steps",
       .settle = [](C& c) { check_ascending(c.schedule.milestone_steps); },
       .used_by = in_multistep},
      {KEY(schedule.gamma, "factor of each drop"), .range = positive_share,
       .used_by = {"schedule.name", {"step", "multistep"}}},
      {KEY(schedule.min_lr, "learning rate at the end of the run"), .range = at_least(0),
       .used_by = {"schedule.name", {"cosine", "linear", "polynomial"}}},
      {KEY(schedule.power, "exponent of the polynomial decay"), .range = above(0),
       .used_by = {"schedule.name", {"polynomial"}}},
  };
}

}  // namespace

std::vector<Field> optimizer_fields() {
  return join({rule_fields(), ema_fields(), used_by({"precision", {"fp16"}}, loss_scale_fields()),
               schedule_fields()});
}

}  // namespace spire::schema_parts
