#include "engine/run/metrics/output_records.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include <spire/error.h>

#include "engine/data/text/vocabulary.h"
#include "engine/observe/scores.h"

namespace spire {
namespace {

[[noreturn]] void no_such(Metric metric) {
  fail(Category::unexpected, "no {} of this task", name(metric));
}

size_t column_of(const SampleSpec& spec, const char* wanted) {
  auto found = std::ranges::find(spec.columns, wanted, &Column::name);
  require(found != spec.columns.end(), "data without {}", wanted);
  return static_cast<size_t>(found - spec.columns.begin());
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
      : column_(column_of(spec, "labels")),
        classes_(static_cast<size_t>(spec.classes)),
        with_auc_(with_auc) {}

  std::vector<Metric> metrics() const override {
    return {Metric::top3, Metric::top5, Metric::f1_macro, Metric::f1_micro, Metric::auc};
  }
  size_t target_column() const override { return column_; }
  size_t width() const override { return 3 + (with_auc_ ? classes_ : 0); }
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

  size_t column_, classes_;
  bool with_auc_;
};

// Record: targets, then outputs, of each value.
class ValueRecords : public OutputRecords {
 public:
  explicit ValueRecords(const SampleSpec& spec)
      : column_(column_of(spec, "values")),
        values_(static_cast<size_t>(spec.columns[column_].shape.elements())) {}

  std::vector<Metric> metrics() const override { return {Metric::r2, Metric::mae}; }
  size_t target_column() const override { return column_; }
  size_t width() const override { return 2 * values_; }
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
  size_t column_, values_;
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
      : column_(column_of(spec, "targets")),
        length_(static_cast<size_t>(spec.columns[column_].shape.elements())) {
    if (spec.vocabulary.empty()) return;
    std::unique_ptr<Vocabulary> vocabulary = make_vocabulary(spec.vocabulary);
    for (int32_t id = 0; id < vocabulary->size(); ++id)
      bytes_.push_back(static_cast<double>(vocabulary->decode({&id, 1}).size()));
  }

  std::vector<Metric> metrics() const override {
    return bytes_.empty() ? std::vector<Metric>{} : std::vector{Metric::bits_per_byte};
  }
  bool reads_outputs() const override { return false; }
  size_t target_column() const override { return column_; }
  size_t width() const override { return 1; }
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
  size_t column_, length_;
  std::vector<double> bytes_;  // of each token; empty: unknown
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
      return image_records(spec, with_ssim);
    case Task::segment:
      return mask_records(spec);
    case Task::predict_tokens:
      return std::make_unique<TokenRecords>(spec);
    case Task::custom:
      return nullptr;
  }
  fail(Category::unexpected, "unknown task");
}

}  // namespace spire
