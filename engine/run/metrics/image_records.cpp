#include <algorithm>
#include <cmath>
#include <limits>

#include <spire/error.h>
#include <spire/tensor.h>

#include "engine/inference/sample_images.h"
#include "engine/observe/scores.h"
#include "engine/run/metrics/output_records.h"

namespace spire {
namespace {

size_t index_of(const SampleSpec& spec, const Column& column) {
  return static_cast<size_t>(&column - spec.columns.data());
}

// Record: the mean absolute error of an image, and, if it is asked for, its SSIM.
class ImageRecords : public OutputRecords {
 public:
  ImageRecords(const SampleSpec& spec, bool with_ssim)
      : column_(index_of(spec, spire::target_column(spec))),
        target_(spec.columns[column_]),
        with_ssim_(with_ssim) {}

  std::vector<Metric> metrics() const override {
    if (std::min(target_.shape[0], target_.shape[1]) < ssim_window) return {Metric::mae};
    return {Metric::mae, Metric::ssim};
  }
  size_t target_column() const override { return column_; }
  size_t width() const override { return with_ssim_ ? 2 : 1; }
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
  size_t column_;
  Column target_;
  bool with_ssim_;
};

// Record: of each class the pixels that have it, those for which it is found, and those with both.
class MaskRecords : public OutputRecords {
 public:
  explicit MaskRecords(const SampleSpec& spec)
      : column_(index_of(spec, spire::target_column(spec))),
        pixels_(static_cast<size_t>(spec.columns[column_].shape.elements())),
        classes_(static_cast<size_t>(spec.classes)) {}

  std::vector<Metric> metrics() const override {
    return {Metric::mean_iou, Metric::dice, Metric::pixel_accuracy};
  }
  size_t target_column() const override { return column_; }
  size_t width() const override { return 3 * classes_; }
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

  size_t column_, pixels_, classes_;
};

}  // namespace

std::unique_ptr<OutputRecords> image_records(const SampleSpec& spec, bool with_ssim) {
  return std::make_unique<ImageRecords>(spec, with_ssim);
}

std::unique_ptr<OutputRecords> mask_records(const SampleSpec& spec) {
  return std::make_unique<MaskRecords>(spec);
}

}  // namespace spire
