#include "engine/run/metrics/output_records.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include <spire/tensor.h>

#include "engine/base/fail.h"
#include "engine/data/text/vocabulary.h"
#include "engine/inference/sample_outputs.h"
#include "engine/observe/scores.h"

namespace spire {
namespace {

[[noreturn]] void no_such(Metric metric) {
  fail(Category::unexpected, "no {} of this task", to_string(metric));
}

size_t column_of(const SampleSpec& spec, const char* wanted) {
  auto found = std::ranges::find(spec.columns, wanted, &Column::name);
  require(found != spec.columns.end(), "data without {}", wanted);
  return static_cast<size_t>(found - spec.columns.begin());
}

// Numbers of a row of that column.
size_t elements_of(const SampleSpec& spec, const char* column) {
  return static_cast<size_t>(spec.columns[column_of(spec, column)].shape.elements());
}

template <typename T>
T number_at(const std::byte* row, size_t index) {
  T number;
  std::memcpy(&number, row + index * sizeof(T), sizeof(T));
  return number;
}

double share_of(std::span<const double> records, size_t width, auto&& counts) {
  int64_t count = 0, samples = 0;
  for (size_t at = 0; at < records.size(); at += width, ++samples)
    count += counts(records.subspan(at, width)) ? 1 : 0;
  return static_cast<double>(count) / static_cast<double>(samples);
}

// The mean over those of `count` numbers that are defined; NaN if none is.
double mean_of_defined(size_t count, auto&& number) {
  double sum = 0;
  int64_t defined = 0;
  for (size_t i = 0; i < count; ++i) {
    double one = number(i);
    if (std::isnan(one)) continue;
    sum += one;
    ++defined;
  }
  return sum / static_cast<double>(defined);
}

// Record: label, class found, place of the label and, for the AUC, the probability of each class.
class ClassRecords : public OutputRecords {
 public:
  ClassRecords(const SampleSpec& spec, bool with_auc)
      : OutputRecords(column_of(spec, "labels"),
                      3 + (with_auc ? static_cast<size_t>(spec.classes) : 0)),
        classes_(static_cast<size_t>(spec.classes)),
        with_auc_(with_auc) {}

  std::vector<Metric> metrics() const override {
    return {Metric::top3, Metric::top5, Metric::f1_macro, Metric::f1_micro, Metric::auc};
  }
  void record(std::span<const float> output, const std::byte* target,
              std::span<double> out) const override {
    auto label = number_at<int32_t>(target, 0);
    out[0] = label;
    out[1] = static_cast<double>(std::ranges::max_element(output) - output.begin());
    out[2] = static_cast<double>(rank_of(output, label));
    if (with_auc_) write_probabilities(output, out.subspan(3));
  }
  double value(Metric metric, std::span<const double> records, double) const override {
    switch (metric) {
      case Metric::top3:
        return share_of(records, width(), [](auto record) { return record[2] < 3; });
      case Metric::top5:
        return share_of(records, width(), [](auto record) { return record[2] < 5; });
      case Metric::f1_macro:
        return f1_macro(scores(records)).value_or(std::numeric_limits<double>::quiet_NaN());
      case Metric::f1_micro:
        return spire::f1_micro(scores(records));
      case Metric::auc:
        return mean_auc(records);
      default:
        no_such(metric);
    }
  }
  bool counts_classes() const override { return true; }
  ConfusionCounts confusion(std::span<const double> records) const override {
    ConfusionCounts counts(classes_ * classes_);
    for (size_t at = 0; at < records.size(); at += width()) {
      if (records[at] < 0 || records[at] >= static_cast<double>(classes_)) continue;  // no class
      ++counts[static_cast<size_t>(records[at]) * classes_ + static_cast<size_t>(records[at + 1])];
    }
    return counts;
  }

 private:
  void write_probabilities(std::span<const float> output, std::span<double> out) const {
    double largest = *std::ranges::max_element(output), sum = 0;
    for (size_t c = 0; c < classes_; ++c) sum += out[c] = std::exp(output[c] - largest);
    for (double& probability : out) probability /= sum;
  }
  std::vector<ClassScore> scores(std::span<const double> records) const {
    return class_scores(confusion(records), classes_);
  }
  // Of two classes the second is the positive one; of more, each in turn against the rest.
  double mean_auc(std::span<const double> records) const {
    if (classes_ == 2) return auc_of(records, 1);
    return mean_of_defined(classes_, [&](size_t c) { return auc_of(records, c); });
  }
  double auc_of(std::span<const double> records, size_t positive) const {
    std::vector<double> probabilities;
    std::vector<bool> is_positive;
    for (size_t at = 0; at < records.size(); at += width()) {
      probabilities.push_back(records[at + 3 + positive]);
      is_positive.push_back(records[at] == static_cast<double>(positive));
    }
    return auc(probabilities, is_positive);
  }

  size_t classes_;
  bool with_auc_;
};

// Record: targets, then outputs, of each value.
class ValueRecords : public OutputRecords {
 public:
  explicit ValueRecords(const SampleSpec& spec)
      : OutputRecords(column_of(spec, "values"), 2 * elements_of(spec, "values")),
        values_(elements_of(spec, "values")) {}

  std::vector<Metric> metrics() const override { return {Metric::r2, Metric::mae}; }
  void record(std::span<const float> output, const std::byte* target,
              std::span<double> out) const override {
    for (size_t v = 0; v < values_; ++v) {
      out[v] = number_at<float>(target, v);
      out[values_ + v] = output[v];
    }
  }
  double value(Metric metric, std::span<const double> records, double) const override {
    std::vector<double> targets = column(records, 0), outputs = column(records, values_);
    if (metric == Metric::r2) return r2(targets, outputs, values_);
    if (metric == Metric::mae) return mean_absolute_error(targets, outputs);
    no_such(metric);
  }

 protected:
  size_t values() const { return values_; }
  // The targets (first = 0) or outputs of all samples: (samples, values).
  std::vector<double> column(std::span<const double> records, size_t first) const {
    std::vector<double> numbers;
    for (size_t at = first; at < records.size(); at += width())
      for (size_t v = 0; v < values_; ++v) numbers.push_back(records[at + v]);
    return numbers;
  }

 private:
  size_t values_;
};

// The values are labels, 0 or 1.
class LabelRecords : public ValueRecords {
 public:
  using ValueRecords::ValueRecords;

  std::vector<Metric> metrics() const override {
    return {Metric::f1_macro, Metric::f1_micro, Metric::auc};
  }
  double value(Metric metric, std::span<const double> records, double) const override {
    if (metric == Metric::f1_macro) return f1_macro_of_labels(scores(records));
    if (metric == Metric::f1_micro) return spire::f1_micro(scores(records));
    if (metric == Metric::auc) return mean_auc(records);
    no_such(metric);
  }

 private:
  std::vector<ClassScore> scores(std::span<const double> records) const {
    std::vector<ClassScore> scores(values());
    for (size_t at = 0; at < records.size(); at += width())
      for (size_t v = 0; v < values(); ++v) {
        bool there = records[at + v] > 0.5, found = records[at + values() + v] > 0;
        scores[v].actual += there ? 1 : 0;
        scores[v].predicted += found ? 1 : 0;
        scores[v].tp += there && found ? 1 : 0;
      }
    return scores;
  }
  double mean_auc(std::span<const double> records) const {
    return mean_of_defined(values(), [&](size_t v) {
      std::vector<double> outputs;
      std::vector<bool> there;
      for (size_t at = 0; at < records.size(); at += width()) {
        outputs.push_back(records[at + values() + v]);
        there.push_back(records[at + v] > 0.5);
      }
      return auc(outputs, there);
    });
  }
};

// Record: the bytes of a sample's targets.
class TokenRecords : public OutputRecords {
 public:
  explicit TokenRecords(const SampleSpec& spec)
      : OutputRecords(column_of(spec, "targets"), 1), length_(elements_of(spec, "targets")) {
    if (spec.vocabulary.empty()) return;
    std::unique_ptr<Vocabulary> vocabulary = make_vocabulary(spec.vocabulary);
    for (int32_t id = 0; id < vocabulary->size(); ++id)
      bytes_.push_back(static_cast<double>(vocabulary->decode({&id, 1}).size()));
  }

  std::vector<Metric> metrics() const override {
    return bytes_.empty() ? std::vector<Metric>{} : std::vector{Metric::bits_per_byte};
  }
  bool reads_outputs() const override { return false; }
  void record(std::span<const float>, const std::byte* target,
              std::span<double> out) const override {
    for (size_t i = 0; i < length_; ++i) {
      auto id = static_cast<size_t>(number_at<int32_t>(target, i));
      out[0] += id < bytes_.size() ? bytes_[id] : 0;
    }
  }
  double value(Metric, std::span<const double> records, double mean_loss) const override {
    double bytes = 0;
    for (double of_sample : records) bytes += of_sample;
    double tokens = static_cast<double>(records.size() * length_);
    return mean_loss * tokens / (std::numbers::ln2 * bytes);
  }

 private:
  size_t length_;
  std::vector<double> bytes_;  // of each token; empty: unknown
};

size_t index_of(const SampleSpec& spec, const Column& column) {
  return static_cast<size_t>(&column - spec.columns.data());
}

// Record: the mean absolute error of an image, and, if it is asked for, its SSIM.
class ImageRecords : public OutputRecords {
 public:
  ImageRecords(const SampleSpec& spec, bool with_ssim)
      : OutputRecords(index_of(spec, spire::target_column(spec)), with_ssim ? 2 : 1),
        target_(spire::target_column(spec)),
        with_ssim_(with_ssim) {}

  std::vector<Metric> metrics() const override {
    if (std::min(target_.shape[0], target_.shape[1]) < ssim_window) return {Metric::mae};
    return {Metric::mae, Metric::ssim};
  }
  void record(std::span<const float> output, const std::byte* target,
              std::span<double> out) const override {
    std::vector<float> image(output.size());
    copy_floats(target, target_.dtype, image);
    double errors = 0;
    for (size_t i = 0; i < image.size(); ++i)
      errors += std::abs(double{image[i]} - double{output[i]});
    out[0] = errors / static_cast<double>(image.size());
    if (with_ssim_)
      out[1] = ssim(output, image, target_.shape[0], target_.shape[1], target_.shape[2]);
  }
  double value(Metric metric, std::span<const double> records, double) const override {
    double sum = 0;
    for (size_t at = metric == Metric::ssim ? 1 : 0; at < records.size(); at += width())
      sum += records[at];
    return sum / static_cast<double>(records.size() / width());
  }

 private:
  Column target_;
  bool with_ssim_;
};

// Record: of each class the pixels that have it, those for which it is found, and those with both.
class MaskRecords : public OutputRecords {
 public:
  explicit MaskRecords(const SampleSpec& spec)
      : OutputRecords(index_of(spec, spire::target_column(spec)),
                      3 * static_cast<size_t>(spec.classes)),
        pixels_(static_cast<size_t>(spire::target_column(spec).shape.elements())),
        classes_(static_cast<size_t>(spec.classes)) {}

  std::vector<Metric> metrics() const override {
    return {Metric::mean_iou, Metric::dice, Metric::pixel_accuracy};
  }
  void record(std::span<const float> output, const std::byte* target,
              std::span<double> out) const override {
    std::vector<ClassScore> counts(classes_);
    count_pixels({reinterpret_cast<const int32_t*>(target), pixels_}, output, counts);
    for (size_t c = 0; c < classes_; ++c) {
      out[3 * c] = static_cast<double>(counts[c].actual);
      out[3 * c + 1] = static_cast<double>(counts[c].predicted);
      out[3 * c + 2] = static_cast<double>(counts[c].tp);
    }
  }
  double value(Metric metric, std::span<const double> records, double) const override {
    std::vector<ClassScore> counts = sum_of(records);
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    if (metric == Metric::mean_iou) return mean_iou(counts).value_or(none);
    if (metric == Metric::dice) return f1_macro(counts).value_or(none);
    return pixel_accuracy(counts).value_or(none);
  }

 private:
  std::vector<ClassScore> sum_of(std::span<const double> records) const {
    std::vector<ClassScore> counts(classes_);
    for (size_t at = 0; at < records.size(); at += width())
      for (size_t c = 0; c < classes_; ++c) {
        counts[c].actual += static_cast<int64_t>(records[at + 3 * c]);
        counts[c].predicted += static_cast<int64_t>(records[at + 3 * c + 1]);
        counts[c].tp += static_cast<int64_t>(records[at + 3 * c + 2]);
      }
    return counts;
  }

  size_t pixels_, classes_;
};

}  // namespace

std::unique_ptr<OutputRecords> make_records(Task task, bool labels, const SampleSpec& spec,
                                            bool with_auc, bool with_ssim) {
  switch (task) {
    case Task::classify:
      return std::make_unique<ClassRecords>(spec, with_auc);
    case Task::regress:
      if (labels) return std::make_unique<LabelRecords>(spec);
      return std::make_unique<ValueRecords>(spec);
    case Task::reconstruct:
      return std::make_unique<ImageRecords>(spec, with_ssim);
    case Task::segment:
      return std::make_unique<MaskRecords>(spec);
    case Task::predict_tokens:
      return std::make_unique<TokenRecords>(spec);
    case Task::custom:
      return nullptr;
  }
  fail(Category::unexpected, "unknown task");
}

}  // namespace spire
