#include "engine/run/bad_steps.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/ranges.h>

#include "engine/base/text.h"
#include "engine/process/group/process_group.h"

namespace spire {
namespace {

using OnBadStep = GuardConfig::OnBadStep;

constexpr size_t max_samples = 256;  // in a message

// The text as a shell takes it for one word.
std::string shell_word(const std::string& text) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=:,+@%-";
  if (!text.empty() && text.find_first_not_of(plain) == text.npos) return text;
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

bool not_finite(const StepOutcome& result) {
  return !std::isfinite(result.loss) || !std::isfinite(result.grad_norm);
}

}  // namespace

void BadSteps::start() {
  if (run_.setup.resumed) run_.guard.restore(run_.setup.resumed->state.guard);
  run_.trainer.set_rejected_steps(run_.guard.bad_steps());
  if (run_.guard.judges())
    run_.trainer.set_judge(
        [this](const StepOutcome& step) { return run_.guard.problem(step).empty(); });
}

bool BadSteps::take(const StepOutcome& result, const Batch& batch, const BatchLoader& data) {
  Guard& guard = run_.guard;
  const GuardConfig& config = run_.setup.config.guard;
  std::string problem = guard.problem(result);
  if (problem.empty()) {
    guard.accept(result);
    return false;
  }
  if (not_finite(result)) problem += locate(result, batch, data);
  if (config.on_bad_step == OnBadStep::stop) stop(result, problem, "");
  if (guard.in_row() >= config.max_skips)
    stop(result, problem, counted(config.max_skips + 1, "bad step") + " in a row");
  int64_t target =
      config.on_bad_step == OnBadStep::rollback ? checkpoints_.regular_before(result.step) : 0;
  if (target > 0) {
    roll_back(result, target, problem);
  } else {
    guard.skip();
    run_.observer.on_warning(fmt::format("step {} is left out: {}", result.step, problem));
  }
  run_.trainer.set_rejected_steps(guard.bad_steps());
  return true;
}

void BadSteps::roll_back(const StepOutcome& result, int64_t target, const std::string& problem) {
  int64_t most = run_.setup.config.guard.max_rollbacks;
  if (run_.guard.rollbacks() >= most)
    stop(result, problem, fmt::format("after {}", counted(most, "rollback")));
  LoadedCheckpoint checkpoint = checkpoints_.load(target);
  run_.trainer.restore(checkpoint.state, checkpoint.tensors.get());
  run_.guard.roll_back(checkpoint.state.guard, target, result.step);
  run_.observer.on_warning(fmt::format(
      "step {}: {}; the run goes back to the weights of step {} and leaves out the samples of "
      "steps {} to {} (rollback {} of {})",
      result.step, problem, target, target + 1, result.step, run_.guard.rollbacks(), most));
}

// Only where the weights are still those before the step.
std::string BadSteps::locate(const StepOutcome& result, const Batch& batch,
                             const BatchLoader& data) {
  if (!result.rejected) return how_to_locate();
  std::string found = first_of_all(first_bad_weight());
  if (found.empty()) found = first_of_all(first_bad_tensor(result, batch, data));
  if (found.empty())
    found =
        "its towers, run again, compute finite numbers only: a device or its memory is faulty; "
        "look at it with check.replicas_every: 1";
  return "; " + found;
}

// The run from its last checkpoint on is reproducible: with a judge, which a z-score brings, it
// ends at the same step, before its update. It writes elsewhere and so leaves this run as it is.
std::string BadSteps::how_to_locate() const {
  constexpr std::string_view purpose = "names the first bad tensor and its samples";
  if (!run_.writes()) return fmt::format("; guard.loss_zscore: 1e9 {}", purpose);
  const std::string& output = run_.setup.config.output;
  std::string from = checkpoints_.written_step() > 0
                         ? "--resume " + shell_word(output)
                         : "--config " + shell_word(output + "/config.yaml");
  return fmt::format("; this {}: trainer {} {} guard.loss_zscore=1e9", purpose, from,
                     shell_word("output=" + output + "_bad_step"));
}

// Returns the first rank's text that has one, on all ranks, which so go on alike; collective.
std::string BadSteps::first_of_all(const std::string& mine) const {
  if (!run_.setup.ranks.group()) return mine;
  // Ranks are in the order of their towers.
  for (const std::string& text : run_.setup.ranks.all_gather(mine))
    if (!text.empty()) return text;
  return "";
}

std::string BadSteps::first_bad_weight() const {
  const float* weights = run_.trainer.weights();
  for (const ParameterEntry& entry : run_.trainer.layout().entries()) {
    const float* begin = weights + entry.offset;
    const float* end = begin + entry.elements();
    const float* bad = std::find_if(begin, end, [](float value) { return !std::isfinite(value); });
    if (bad == end) continue;
    std::string rank = run_.world.size() == 1 ? "" : fmt::format(" of rank {}", run_.world.rank());
    return fmt::format("first bad tensor: the weights {}{}, whose element {} is {} before the step",
                       entry.name, rank, coordinates({entry.shape, DType::f32}, bad - begin),
                       unsigned_nan(static_cast<double>(*bad)));
  }
  return "";
}

// Runs the step's towers again; they are reproducible, so they compute what they computed before.
std::string BadSteps::first_bad_tensor(const StepOutcome& result, const Batch& batch,
                                       const BatchLoader& data) {
  NonFiniteSearch search(run_.setup.placement.towers);
  run_.trainer.inspect(batch, result.step - 1, search);
  std::string mine;
  for (size_t t = 0; mine.empty() && t < search.towers().size(); ++t) {
    const auto& found = search.towers()[t];
    if (!found) continue;
    auto tower = static_cast<int>(t);
    std::string at = coordinates(found->spec, found->element);
    mine = fmt::format("tower {}, first bad tensor: {}, whose element {} is {}; {}", tower,
                       found->name.text(), at, unsigned_nan(found->value),
                       samples_of(tower, batch, data));
    if (found->name.op == "input") mine += "; look at these samples";
  }
  return mine;
}

std::string BadSteps::samples_of(int tower, const Batch& batch, const BatchLoader& data) const {
  int64_t size = run_.setup.placement.batch_size, first = tower * size;
  std::vector<int64_t> samples;
  for (int64_t row = first; row < std::min(first + size, batch.valid); ++row)
    samples.push_back(data.sample_of(batch, row));
  size_t shown = std::min(samples.size(), max_samples);
  std::string more =
      shown < samples.size() ? fmt::format(" and {} more", samples.size() - shown) : std::string();
  samples.resize(shown);
  return fmt::format("samples of the tower: {}{}", fmt::join(samples, ", "), more);
}

void BadSteps::stop(const StepOutcome& result, const std::string& problem,
                    const std::string& reason) {
  int64_t written = checkpoints_.written_step();
  std::string saved = written > 0 ? "the last checkpoint is of step " + std::to_string(written)
                                  : std::string("there is no checkpoint yet");
  throw SymmetricError(
      Category::diverged,
      fmt::format("step {}: the run diverged{}: {}; {}; lower optimizer.lr, raise "
                  "schedule.warmup_epochs or set optimizer.clip_norm",
                  result.step, reason.empty() ? "" : fmt::format(" ({})", reason), problem, saved));
}

}  // namespace spire
