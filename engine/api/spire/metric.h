// Metric of a run, as accuracy or perplexity. It is computed from the mean loss, or from
// the mean "score": a number that the model computes for each sample besides the loss.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <spire/export.h>

namespace spire {

// metric      model predicts  value
// accuracy    a class         mean score; the score is 1 if the class is right, else 0
// perplexity  tokens          e^loss; the loss is the mean over tokens
// psnr        an image        10 log10(1 / score) dB; score: mean squared error, pixels in [0, 1]
// rmse        numbers         sqrt(score); score: mean squared error
// score       (own loss)       mean score, higher is better
// error       (own loss)       mean score, lower is better
enum class Metric : uint8_t { accuracy, perplexity, psnr, rmse, score, error };

struct MetricValue {
  Metric metric = Metric::accuracy;
  double value = 0;
  bool operator==(const MetricValue&) const = default;
};

SPIRE_API MetricValue measure(Metric metric, double mean_loss, double mean_score);
// Tells whether `value` is better than `than`. NaN is never better; any number is better than NaN.
SPIRE_API bool better(Metric metric, double value, double than);

SPIRE_API std::string_view name(Metric metric);               // "accuracy"
SPIRE_API std::string_view short_name(Metric metric);         // "acc"
SPIRE_API std::string metric_text(const MetricValue& value);  // "92.94%", "4.53", "24.31 dB"
SPIRE_API std::string short_text(const MetricValue& value);   // "92.9%", "4.53", "24.3 dB"

}  // namespace spire
