#include <array>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include <spire/error.h>
#include <spire/metric.h>

#include "engine/base/message_words.h"
#include "engine/observe/formatting.h"

namespace spire {
namespace {

struct Description {
  std::string_view name, short_name;
  bool higher_is_better;
};

// In the order of the enum, which indexes it.
constexpr std::array descriptions = {
    Description{"accuracy", "acc", true}, Description{"perplexity", "ppl", false},
    Description{"psnr", "psnr", true},    Description{"rmse", "rmse", false},
    Description{"score", "score", true},  Description{"error", "error", false},
};

const Description& describe(Metric metric) {
  return descriptions[static_cast<size_t>(metric)];
}

// These have no fixed range: they are shown with four significant digits.
std::string text(const MetricValue& value, int decimals) {
  switch (value.metric) {
    case Metric::accuracy:
      return fmt::format("{:.{}f}%", 100 * unsigned_nan(value.value), decimals);
    case Metric::psnr:
      return fmt::format("{:.{}f} dB", unsigned_nan(value.value), decimals);
    case Metric::perplexity:
    case Metric::rmse:
    case Metric::score:
    case Metric::error:
      return loss_text(value.value);
  }
  fail(Category::unexpected, "unknown metric");
}

}  // namespace

MetricValue measure(Metric metric, double mean_loss, double mean_score) {
  switch (metric) {
    case Metric::accuracy:
      return {metric, mean_score};  // the score of a sample is 1 if its class is found, else 0
    case Metric::perplexity:
      return {metric, std::exp(mean_loss)};
    case Metric::psnr:  // 10 log10(1 / m), in dB
      return {metric, -10 * std::log10(mean_score)};
    case Metric::rmse:
      return {metric, std::sqrt(mean_score)};
    case Metric::score:
    case Metric::error:
      return {metric, mean_score};
  }
  fail(Category::unexpected, "unknown metric");
}

bool better(Metric metric, double value, double than) {
  if (std::isnan(value) || std::isnan(than)) return !std::isnan(value);
  return describe(metric).higher_is_better ? value > than : value < than;
}

std::string_view name(Metric metric) {
  return describe(metric).name;
}

std::string_view short_name(Metric metric) {
  return describe(metric).short_name;
}

std::string metric_text(const MetricValue& value) {
  return text(value, 2);
}

std::string short_text(const MetricValue& value) {
  return text(value, 1);
}

}  // namespace spire
