// Records of single samples, and the metrics of eval.metrics that are computed from them: one class
// for each task.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <spire/dataset.h>
#include <spire/metric.h>

#include "models/model.h"

namespace spire {

// Counts of classes, row: the true class, column: the class that the model finds.
using ConfusionCounts = std::vector<int64_t>;

class OutputRecords {  // immutable, hence thread-safe
 public:
  // column: index of the data's column that it reads. width: numbers of a record.
  OutputRecords(size_t column, size_t width) : column_(column), width_(width) {}
  virtual ~OutputRecords() = default;

  virtual std::vector<Metric> metrics() const = 0;  // that it can compute
  virtual bool reads_outputs() const { return true; }
  size_t target_column() const { return column_; }
  size_t width() const { return width_; }
  // Writes a sample's record to `out`. output: all numbers of the model's output; empty unless
  // reads_outputs(). target: the sample's row of the target column.
  virtual void record(std::span<const float> output, const std::byte* target,
                      std::span<double> out) const = 0;
  // records: (samples, width()), in the order of the samples.
  virtual double value(Metric metric, std::span<const double> records, double mean_loss) const = 0;
  virtual bool counts_classes() const { return false; }  // whether there is a confusion()
  virtual ConfusionCounts confusion(std::span<const double>) const { return {}; }

 private:
  size_t column_, width_;
};

// Returns the records of a task; null for Task::custom. labels: the data's values are labels that
// are there (1) or not (0), and an output above 0 predicts one. with_auc, with_ssim: whether these
// metrics are asked for, as auc needs larger records and ssim takes long.
std::unique_ptr<OutputRecords> make_records(Task task, bool labels, const SampleSpec& spec,
                                            bool with_auc, bool with_ssim);

}  // namespace spire
