#include "tools/predict/truth_summary.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <spire/text.h>

namespace spire::tool {
namespace {

// Returns log(sum_j exp(x_j)) - x_label, computed in fp64.
double cross_entropy(std::span<const float> logits, size_t label) {
  double largest = -INFINITY, sum = 0;
  for (float logit : logits) largest = std::max(largest, double{logit});
  for (float logit : logits) sum += std::exp(double{logit} - largest);
  return std::log(sum) + largest - double{logits[label]};
}

bool is_plain_entropy(const LossConfig& loss) {
  using Name = LossConfig::Name;
  return (loss.name == Name::automatic || loss.name == Name::cross_entropy) &&
         loss.label_smoothing == 0 && loss.class_weights.empty() && loss.z_loss == 0;
}

}  // namespace

TruthSummary::TruthSummary(ModelTask task, const LossConfig& loss)
    : task_(task),
      binary_(loss.name == LossConfig::Name::binary),
      plain_entropy_(is_plain_entropy(loss)) {}

void TruthSummary::add(const RowOrigin& origin, std::span<const float> outputs) {
  bool classes = task_ == ModelTask::classify;
  if (binary_ || (classes ? !origin.label : origin.values.empty())) return;
  ++rows_;
  if (classes) {
    auto label = static_cast<size_t>(*origin.label);
    auto best = static_cast<size_t>(std::ranges::max_element(outputs) - outputs.begin());
    right_ += best == label ? 1 : 0;
    loss_ += cross_entropy(outputs, label);
    return;
  }
  for (size_t i = 0; i < std::min(outputs.size(), origin.values.size()); ++i) {
    double error = double{outputs[i]} - double{origin.values[i]};
    squares_ += error * error;
    ++values_;
  }
}

std::string TruthSummary::text() const {
  if (rows_ == 0) return "";
  std::string of = fmt::format("of {}", counted(rows_, "sample"));
  auto rows = static_cast<double>(rows_);
  if (task_ != ModelTask::classify)
    return fmt::format("rmse {:.6g} {}", std::sqrt(squares_ / static_cast<double>(values_)), of);
  std::string loss = plain_entropy_ ? fmt::format("loss {:.6g} ", loss_ / rows) : "";
  return fmt::format("{}accuracy {:.4f} {}", loss, static_cast<double>(right_) / rows, of);
}

}  // namespace spire::tool
