// Metrics of a run. Each task has a metric of its own (accuracy, perplexity, ...), computed from
// the mean loss or from the mean "score", a number that the model computes for each sample besides
// the loss. The metrics that eval.metrics adds are computed from the outputs for all samples of an
// evaluation.
#pragma once
#include <cstdint>
#include <optional>
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
//
// These are for eval.metrics (`loss` is the mean loss). scikit-learn's functions give the same
// numbers.
// top3, top5       a class       share of samples whose class is among the 3 or 5 largest outputs
// f1_macro         a class       mean of F1 over the classes that occur (ClassScore)
// f1_micro         a class       F1 of all decisions together; of single labels the accuracy
// auc              a class       area under the ROC curve; of several classes the mean over one
//                                against the rest (van Rijsbergen, 1979; Hand and Till, 2001)
// exact_match      labels        share of samples all of whose labels are right
// r2               numbers       1 - squared errors / squared distances from the mean, mean over
//                                the values of a sample
// mae              numbers       mean absolute error; of images over all pixels
// bits_per_byte    tokens        loss / (ln 2 * bytes per token of the evaluated text)
// ssim             an image      mean over samples of the structural similarity (observe's ssim())
// mean_iou, dice   a mask        means of tp / (actual + predicted - tp) and of F1 over the classes
//                                that occur, from counts of all labelled pixels
// pixel_accuracy   a mask        share of the labelled pixels whose class is predicted rightly
enum class Metric : uint8_t {
  accuracy,
  perplexity,
  psnr,
  rmse,
  score,
  error,
  loss,
  top3,
  top5,
  f1_macro,
  f1_micro,
  auc,
  exact_match,
  r2,
  mae,
  bits_per_byte,
  ssim,
  mean_iou,
  dice,
  pixel_accuracy,
};

struct MetricValue {
  Metric metric = Metric::accuracy;
  double value = 0;
  bool operator==(const MetricValue&) const = default;
};

// Returns the value of a task's metric, of loss or of exact_match. Throws Error(unexpected) for
// other metrics, which do not follow from the two means.
SPIRE_API MetricValue measure(Metric metric, double mean_loss, double mean_score);
SPIRE_API bool higher_is_better(Metric metric);
SPIRE_API std::optional<Metric> find_metric(std::string_view name);  // nullopt: an unknown name
// Tells whether `value` is better than `than`. NaN is never better; any number is better than NaN.
SPIRE_API bool better(Metric metric, double value, double than);

SPIRE_API std::string_view to_string(Metric metric);          // "accuracy"
SPIRE_API std::string_view short_name(Metric metric);         // "acc"
SPIRE_API std::string metric_text(const MetricValue& value);  // "92.94%", "4.53", "24.31 dB"
SPIRE_API std::string short_text(const MetricValue& value);   // "92.9%", "4.53", "24.3 dB"

}  // namespace spire
