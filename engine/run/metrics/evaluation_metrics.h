// The metrics that eval.metrics and best.metric add to an evaluation. Each rank records its own
// samples; at the end all ranks get all records, in the order of the samples, and compute alike.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spire/metric.h>
#include <spire/observer.h>
#include <spire/run_config.h>

#include "engine/data/loader.h"
#include "engine/run/metrics/output_records.h"
#include "engine/train/placement/place_run.h"
#include "engine/train/tower_trainer.h"

namespace spire {

// What a run measures besides the loss and its task's metric.
struct MetricChoice {
  std::vector<Metric> metrics = {};  // besides loss and `task`: of eval.metrics, then best.metric
  bool confusion = false;            // a file with the confusion matrix
  Metric task = Metric::accuracy;    // the task's own metric
  Metric best = Metric::accuracy;    // decides which evaluation is the best
  bool higher = true;                // whether higher values of `best` are better
  bool reads_outputs = false;        // whether anything is computed from the model's outputs

  bool records() const;                             // whether anything depends on single samples
  bool is_better(double value, double than) const;  // as in evaluations.h
  double deciding(const EvalReport& report) const;  // the value of `best`
};

// records: what the task can record; null: only its own metric and the loss fit. Throws
// Error(config) for a metric that does not fit the task.
MetricChoice choose_metrics(const RunConfig& config, Metric task_metric,
                            const OutputRecords* records);

class EvaluationMetrics : public OutputObserver {
 public:
  // records: may be null where the choice needs none. data: to be evaluated; only the constructor
  // reads it.
  EvaluationMetrics(MetricChoice choice, std::unique_ptr<OutputRecords> records,
                    const Dataset& data);

  void begin();  // starts an evaluation
  // Evaluates a batch (TowerTrainer::evaluate) and records this rank's samples.
  void evaluate(TowerTrainer& trainer, const Batch& batch, EvaluationSums& sums, bool stop);
  // Evaluates all of `data`, begin() included. before_batch: called before each batch; may throw to
  // end the evaluation.
  EvaluationSums evaluate_all(
      TowerTrainer& trainer, BatchLoader& data, const std::function<void()>& before_batch = [] {});
  void on_outputs(const Batch& batch, int64_t first_row, int64_t samples,
                  std::span<const float> outputs) override;

  // Call it when all batches are done; collective. sums: of the evaluation, which had the first
  // sums.samples samples of the data. step: of the weights. The result has all that was measured,
  // with the values of choice().metrics; epoch, seconds and best are not set.
  EvalReport report(int64_t step, const EvaluationSums& sums, const RankGroup& ranks);
  // The counts of the last evaluation as JSON; empty without MetricChoice::confusion.
  std::string confusion_json(int64_t step, const std::vector<std::string>& class_names) const;

  const MetricChoice& choice() const { return choice_; }

 private:
  std::vector<MetricValue> finish(const EvaluationSums& sums, const RankGroup& ranks);
  std::span<double> row(int64_t sample);
  std::span<const double> evaluated_rows() const;
  void record(const Batch& batch, int64_t row, std::span<const float> output);
  void gather(const RankGroup& ranks);

  MetricChoice choice_;
  std::unique_ptr<OutputRecords> records_;
  size_t target_bytes_ = 0;    // of a row of the column that records_ reads
  std::vector<double> rows_;   // (samples, width)
  int64_t evaluated_ = 0;      // samples, in the last evaluation
  std::vector<uint8_t> mine_;  // (samples): whether this rank has recorded it
};

}  // namespace spire
