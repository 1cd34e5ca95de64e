#include "engine/run/metrics/evaluation_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/observe/evaluations.h"

namespace spire {
namespace {

constexpr const char* confusion_word = "confusion";

Metric known_metric(const std::string& key, const std::string& word) {
  std::optional<Metric> metric = find_metric(word);
  if (!metric) fail(Category::config, "{}: there is no metric '{}'", key, word);
  return *metric;
}

// Throws where `metric` is neither of the task nor among what can be recorded.
void require_fits(const std::string& key, Metric metric, Metric task,
                  const OutputRecords* records) {
  std::vector<Metric> fitting = records ? records->metrics() : std::vector<Metric>{};
  fitting.push_back(Metric::loss);
  if (metric == task || std::ranges::find(fitting, metric) != fitting.end()) return;
  std::vector<std::string> names = {std::string(to_string(task))};
  for (Metric other : fitting) names.emplace_back(to_string(other));
  fail(Category::config, "{}: {} does not fit the model and its data; use one of: {}", key,
       to_string(metric), fmt::join(names, ", "));
}

bool follows_from_sums(Metric metric, Metric task) {
  return metric == task || metric == Metric::loss;
}

}  // namespace

bool MetricChoice::records() const {
  return confusion || std::ranges::any_of(metrics, [this](Metric metric) {
           return !follows_from_sums(metric, task);
         });
}

bool MetricChoice::is_better(double value, double than) const {
  return spire::is_better(higher, value, than);
}

double MetricChoice::deciding(const EvalReport& report) const {
  auto value = measured_value(report, best);
  require(value.has_value(), "an evaluation without {}", to_string(best));
  return *value;
}

MetricChoice choose_metrics(const RunConfig& config, Metric task_metric,
                            const OutputRecords* records) {
  MetricChoice choice{.task = task_metric, .best = task_metric};
  for (const std::string& word : config.eval.metrics) {
    if (word == confusion_word) {
      choice.confusion = true;
      continue;
    }
    Metric metric = known_metric("eval.metrics", word);
    require_fits("eval.metrics", metric, task_metric, records);
    bool shown = follows_from_sums(metric, task_metric);  // in every evaluation
    if (!shown && std::ranges::find(choice.metrics, metric) == choice.metrics.end())
      choice.metrics.push_back(metric);
  }
  if (choice.confusion && !(records && records->counts_classes()))
    fail(Category::config,
         "eval.metrics: confusion counts classes, and the model finds none; leave it out");
  if (config.best.metric != "auto") {
    choice.best = known_metric("best.metric", config.best.metric);
    require_fits("best.metric", choice.best, task_metric, records);
    if (!follows_from_sums(choice.best, task_metric) &&
        std::ranges::find(choice.metrics, choice.best) == choice.metrics.end())
      choice.metrics.push_back(choice.best);
  }
  choice.higher = best_is_higher(config.best, choice.best);
  choice.reads_outputs = choice.records() && records->reads_outputs();
  return choice;
}

EvaluationMetrics::EvaluationMetrics(MetricChoice choice, std::unique_ptr<OutputRecords> records,
                                     const Dataset& data)
    : choice_(std::move(choice)) {
  if (!choice_.records()) return;
  records_ = std::move(records);
  target_bytes_ = data.spec().columns[records_->target_column()].row_bytes();
  rows_.resize(static_cast<size_t>(data.count()) * records_->width());
  mine_.resize(static_cast<size_t>(data.count()));
}

void EvaluationMetrics::begin() {
  std::ranges::fill(rows_, 0.0);
  std::ranges::fill(mine_, uint8_t{0});
}

std::span<double> EvaluationMetrics::row(int64_t sample) {
  size_t width = records_->width();
  return std::span(rows_).subspan(static_cast<size_t>(sample) * width, width);
}

// The loader of an evaluation does not shuffle: the position in the epoch is the sample.
void EvaluationMetrics::record(const Batch& batch, int64_t global_row,
                               std::span<const float> output) {
  int64_t sample = batch.first_position + global_row;
  const std::byte* target = batch.columns[records_->target_column()] +
                            static_cast<size_t>(global_row - batch.first_row) * target_bytes_;
  records_->record(output, target, row(sample));
  mine_[static_cast<size_t>(sample)] = 1;
}

void EvaluationMetrics::on_outputs(const Batch& batch, int64_t first_row, int64_t samples,
                                   std::span<const float> outputs) {
  size_t width = outputs.size() / static_cast<size_t>(samples);
  for (int64_t i = 0; i < samples; ++i)
    record(batch, first_row + i, outputs.subspan(static_cast<size_t>(i) * width, width));
}

void EvaluationMetrics::evaluate(TowerTrainer& trainer, const Batch& batch, EvaluationSums& sums,
                                 bool stop) {
  bool by_output = records_ && records_->reads_outputs();
  trainer.evaluate(batch, sums, stop, by_output ? this : nullptr);
  if (!records_ || by_output) return;
  const Placement& placement = trainer.placement();
  int64_t rows = placement.towers_of(placement.rank).size() * placement.batch_size;
  int64_t end = std::min(batch.first_row + rows, batch.valid);
  for (int64_t row = batch.first_row; row < end; ++row) record(batch, row, {});
}

// A rank's message has, for each of its samples, the index and the record.
void EvaluationMetrics::gather(const RankGroup& ranks) {
  if (!ranks.group()) return;
  size_t bytes = records_->width() * sizeof(double);
  std::string message;
  message.reserve(static_cast<size_t>(std::ranges::count(mine_, uint8_t{1})) *
                  (sizeof(int64_t) + bytes));
  for (int64_t sample = 0; sample < std::ssize(mine_); ++sample) {
    if (!mine_[static_cast<size_t>(sample)]) continue;
    message.append(reinterpret_cast<const char*>(&sample), sizeof sample);
    message.append(reinterpret_cast<const char*>(row(sample).data()), bytes);
  }
  for (const std::string& theirs : ranks.all_gather(message))
    for (size_t at = 0; at < theirs.size(); at += sizeof(int64_t) + bytes) {
      int64_t sample = 0;
      std::memcpy(&sample, theirs.data() + at, sizeof sample);
      std::memcpy(row(sample).data(), theirs.data() + at + sizeof sample, bytes);
    }
}

std::span<const double> EvaluationMetrics::evaluated_rows() const {
  return std::span(rows_).first(static_cast<size_t>(evaluated_) * records_->width());
}

EvaluationSums EvaluationMetrics::evaluate_all(TowerTrainer& trainer, BatchLoader& data,
                                               const std::function<void()>& before_batch) {
  EvaluationSums sums;
  trainer.begin_evaluation();
  begin();
  data.start(0, 0, 1);
  while (!data.finished()) {
    before_batch();
    evaluate(trainer, data.next(), sums, false);
  }
  trainer.end_evaluation();
  return sums;
}

EvalReport EvaluationMetrics::report(int64_t step, const EvaluationSums& sums,
                                     const RankGroup& ranks) {
  EvalReport report;
  report.step = step;
  report.loss = sums.mean_loss();
  report.metric = sums.measured(choice_.task);
  report.samples = sums.samples;
  report.others = finish(sums, ranks);
  report.best_by = choice_.best;
  return report;
}

std::vector<MetricValue> EvaluationMetrics::finish(const EvaluationSums& sums,
                                                   const RankGroup& ranks) {
  if (!records_) return {};
  gather(ranks);
  evaluated_ = sums.samples;
  std::vector<MetricValue> values;
  for (Metric metric : choice_.metrics)
    values.push_back({metric, records_->value(metric, evaluated_rows(), sums.mean_loss())});
  return values;
}

std::string EvaluationMetrics::confusion_json(int64_t step,
                                              const std::vector<std::string>& class_names) const {
  if (!choice_.confusion) return "";
  ConfusionCounts counts = records_->confusion(evaluated_rows());
  auto classes = static_cast<size_t>(std::llround(std::sqrt(counts.size())));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (size_t c = 0; c < classes; ++c)
    rows.push_back(std::vector(counts.begin() + static_cast<ptrdiff_t>(c * classes),
                               counts.begin() + static_cast<ptrdiff_t>((c + 1) * classes)));
  nlohmann::ordered_json json = {{"step", step}, {"classes", class_names}, {"counts", rows}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace spire
