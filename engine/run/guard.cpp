#include "engine/run/guard.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "engine/base/fail.h"
#include "engine/base/hash.h"
#include "engine/base/text.h"

namespace spire {

bool Guard::judges() const {
  return config_.on_bad_step != GuardConfig::OnBadStep::stop || config_.loss_zscore > 0 ||
         config_.grad_zscore > 0;
}

std::string Guard::problem(const StepOutcome& step) const {
  if (step.skipped) return "";
  if (!std::isfinite(step.loss) || !std::isfinite(step.grad_norm))
    return fmt::format("the loss is {}, the gradient norm {}", unsigned_nan(step.loss),
                       unsigned_nan(step.grad_norm));
  std::string loss = spike("loss", step.loss, config_.loss_zscore, &Numbers::loss);
  if (!loss.empty()) return loss;
  return spike("gradient norm", step.grad_norm, config_.grad_zscore, &Numbers::grad_norm);
}

std::string Guard::spike(const char* what, double value, double zscore,
                         double Numbers::*number) const {
  if (zscore <= 0 || std::ssize(state_.window) < config_.window) return "";
  auto count = static_cast<double>(state_.window.size());
  double mean = 0, squares = 0;
  for (const Numbers& step : state_.window) mean += step.*number;
  mean /= count;
  for (const Numbers& step : state_.window)
    squares += (step.*number - mean) * (step.*number - mean);
  double deviation = std::max(std::sqrt(squares / count), 1e-6 * std::abs(mean));
  if (value - mean <= zscore * deviation) return "";
  return fmt::format(
      "the {} {:.6g} is {:.1f} standard deviations above the mean {:.6g} of the "
      "last {} good steps",
      what, value, (value - mean) / deviation, mean, state_.window.size());
}

void Guard::accept(const StepOutcome& step) {
  if (step.skipped || !judges()) return;
  state_.in_row = 0;
  if (config_.loss_zscore <= 0 && config_.grad_zscore <= 0) return;
  state_.window.push_back({step.loss, step.grad_norm});
  if (std::ssize(state_.window) > config_.window) state_.window.pop_front();
}

void Guard::skip() {
  ++state_.bad_steps;
  ++state_.in_row;
}

void Guard::roll_back(const std::string& text, int64_t back, int64_t now) {
  state_.bad_steps = (text.empty() ? 0 : parse(text).bad_steps) + now - back;
  ++state_.in_row;
  ++state_.rollbacks;
}

std::string Guard::text() const {
  if (!judges() && state_.bad_steps == 0) return "";
  std::string text = fmt::format("{} {} {}\n", state_.bad_steps, state_.in_row, state_.rollbacks);
  for (const Numbers& step : state_.window)
    text += fmt::format("{} {}\n", hex(std::bit_cast<uint64_t>(step.loss)),
                        hex(std::bit_cast<uint64_t>(step.grad_norm)));
  return text;
}

void Guard::restore(const std::string& text) {
  if (text.empty()) return;
  state_ = parse(text);
  while (std::ssize(state_.window) > config_.window) state_.window.pop_front();
}

Guard::State Guard::parse(const std::string& text) {
  State state;
  std::istringstream lines(text);
  lines >> state.bad_steps >> state.in_row >> state.rollbacks;
  if (!lines) fail(Category::checkpoint, "the guard's state in the checkpoint is damaged");
  for (std::string loss, norm; lines >> loss >> norm;) {
    auto number = [](const std::string& bits) {
      return std::bit_cast<double>(uint64_t{std::stoull(bits, nullptr, 16)});
    };
    state.window.push_back({number(loss), number(norm)});
  }
  return state;
}

}  // namespace spire
