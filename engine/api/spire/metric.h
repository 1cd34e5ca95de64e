// The metric of a run: accuracy, perplexity, PSNR or RMSE. It is computed from the mean loss, or
// from the mean of a "score" that is summed over samples.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace spire {

//   accuracy    classes                 share of samples whose class is found: the score's mean
//   perplexity  tokens                  e^loss; the loss is the mean over tokens
//   psnr        images from images      10 log10(1 / m) dB; m: mean squared error of pixels in 0..1
//   rmse        values of a regression  square root of the mean squared error
enum class Metric : uint8_t { accuracy, perplexity, psnr, rmse };

struct MetricValue {
  Metric metric = Metric::accuracy;
  double value = 0;
  bool operator==(const MetricValue&) const = default;
};

MetricValue measure(Metric metric, double mean_loss, double mean_score);
// Compares two values: NaN is never better, and every number is better than NaN.
bool better(Metric metric, double value, double than);

std::string_view name(Metric metric);               // "accuracy": in files and on lines
std::string_view short_name(Metric metric);         // "acc": for short lines
std::string metric_text(const MetricValue& value);  // "92.94%", "4.53", "24.31 dB"
std::string short_text(const MetricValue& value);   // "92.9%", "4.53", "24.3 dB"

}  // namespace spire
