#include <cmath>

#include <fmt/format.h>

#include <spire/metric.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/observe/formatting.h"

namespace spire {
namespace {

// These have no fixed range: they are shown with four significant digits.
std::string text(const MetricValue& value, int decimals) {
  switch (value.metric) {
    case Metric::accuracy:
    case Metric::top3:
    case Metric::top5:
    case Metric::exact_match:
    case Metric::mean_iou:
    case Metric::dice:
    case Metric::pixel_accuracy:
      return fmt::format("{:.{}f}%", 100 * unsigned_nan(value.value), decimals);
    case Metric::psnr:
      return fmt::format("{:.{}f} dB", unsigned_nan(value.value), decimals);
    case Metric::perplexity:
    case Metric::rmse:
    case Metric::score:
    case Metric::error:
    case Metric::loss:
    case Metric::f1_macro:
    case Metric::f1_micro:
    case Metric::auc:
    case Metric::r2:
    case Metric::mae:
    case Metric::bits_per_byte:
    case Metric::ssim:
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
    case Metric::exact_match:
      return {metric, mean_score};
    case Metric::loss:
      return {metric, mean_loss};
    default:
      fail(Category::unexpected, "{} does not follow from loss and score", to_string(metric));
  }
}

bool better(Metric metric, double value, double than) {
  if (std::isnan(value) || std::isnan(than)) return !std::isnan(value);
  return higher_is_better(metric) ? value > than : value < than;
}

std::string metric_text(const MetricValue& value) {
  return text(value, 2);
}

std::string short_text(const MetricValue& value) {
  return text(value, 1);
}

}  // namespace spire
