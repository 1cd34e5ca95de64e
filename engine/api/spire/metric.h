// Metric of a run: accuracy, perplexity, PSNR or RMSE. It is computed from the mean loss, or from
// the mean "score": a number that the model computes for each sample besides the loss.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace spire {

// metric      model predicts  value
// accuracy    a class         mean score; the score is 1 if the class is right, else 0
// perplexity  tokens          e^loss; the loss is the mean over tokens
// psnr        an image        10 log10(1 / score) dB; score: mean squared error, pixels in [0, 1]
// rmse        numbers         sqrt(score); score: mean squared error
enum class Metric : uint8_t { accuracy, perplexity, psnr, rmse };

struct MetricValue {
  Metric metric = Metric::accuracy;
  double value = 0;
  bool operator==(const MetricValue&) const = default;
};

MetricValue measure(Metric metric, double mean_loss, double mean_score);
// Tells whether `value` is better than `than`. NaN is never better; any number is better than NaN.
bool better(Metric metric, double value, double than);

std::string_view name(Metric metric);               // "accuracy"
std::string_view short_name(Metric metric);         // "acc"
std::string metric_text(const MetricValue& value);  // "92.94%", "4.53", "24.31 dB"
std::string short_text(const MetricValue& value);   // "92.9%", "4.53", "24.3 dB"

}  // namespace spire
