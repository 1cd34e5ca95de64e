#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "engine/run/run_context.h"
#include "tools/audit/audit_run.h"

namespace spire {
namespace {

using Kind = MetricsLine::Kind;
using Numbers = std::vector<std::pair<std::string, double>>;

// Computed, or of a precision or a guard.
bool is_expected(const std::string& key, const Numbers& computed) {
  constexpr auto others = std::to_array<std::string_view>(
      {"epoch", "samples_seen", "train/loss_scale", "train/skipped_steps", "train/bad_steps",
       "train/rollbacks", "train/parameter_hash", "train/chain"});
  return std::ranges::find(others, key) != others.end() ||
         std::ranges::find(computed, key, &Numbers::value_type::first) != computed.end();
}

TensorDifference in_metrics(int64_t step, std::string what, std::string recorded,
                            std::string computed) {
  return {.step = step,
          .tensor = std::move(what),
          .a = std::move(recorded),
          .b = std::move(computed),
          .note = "in metrics.jsonl"};
}

std::string text_of(double value) {
  return fmt::format("{}", unsigned_nan(value));
}

// Keys that the line lacks are no difference: some belong to a precision or to a guard.
std::optional<TensorDifference> line_difference(const MetricsLine& line, const Numbers& computed) {
  for (const auto& [key, value] : line.numbers)
    if (!is_expected(key, computed)) return in_metrics(line.step, key, text_of(value), "none");
  for (const auto& [key, value] : computed) {
    auto recorded = line.number(key);
    if (!recorded || same_number(*recorded, value)) continue;
    return in_metrics(line.step, key, text_of(*recorded), text_of(value));
  }
  return {};
}

bool evaluates(const RunSetup& setup, int64_t step) {
  const EvalConfig& eval = setup.config.eval;
  return is_due(eval.every_epochs * setup.steps_per_epoch(), step) ||
         is_due(eval.every_steps, step);
}

}  // namespace

const MetricsLine* RecordedNumbers::find(Kind kind, int64_t step) const {
  auto found = lines_.find({kind, step});
  return found == lines_.end() ? nullptr : found->second;
}

std::optional<TensorDifference> RecordedNumbers::difference(Replay& replay,
                                                            const AuditRecord& record,
                                                            int64_t last) const {
  if (auto found = train_difference(replay, record)) return found;
  bool due = record.step < last && evaluates(replay.setup(), record.step);
  if (auto found = evaluation_difference(replay, Kind::val, due)) return found;
  return evaluation_difference(replay, Kind::test, false);
}

std::optional<TensorDifference> RecordedNumbers::train_difference(Replay& replay,
                                                                  const AuditRecord& record) const {
  const MetricsLine* line = find(Kind::train, record.step);
  if (!line) return {};
  double epoch =
      static_cast<double>(record.step) / static_cast<double>(replay.setup().steps_per_epoch());
  Numbers computed = {
      {"epoch", epoch},
      {"samples_seen", static_cast<double>(replay.samples_seen())},
      {"train/loss", record.loss},
      {fmt::format("train/{}", to_string(replay.metric().metric)), replay.metric().value},
      {"train/lr", record.lr},
      {"train/grad_norm", record.grad_norm}};
  if (auto found = line_difference(*line, computed)) return found;
  if (line->parameter_hash.empty() || line->parameter_hash == hex(replay.hash())) return {};
  return in_metrics(record.step, "train/parameter_hash", line->parameter_hash, hex(replay.hash()));
}

// due: the run evaluated here, or left the line out.
std::optional<TensorDifference> RecordedNumbers::evaluation_difference(Replay& replay, Kind kind,
                                                                       bool due) const {
  const MetricsLine* line = find(kind, replay.step());
  const char* word = kind == Kind::val ? "val" : "test";
  if (!line && due) return in_metrics(replay.step(), "the evaluation", "missing", "due");
  if (!line) return {};
  const DatasetPair& data = replay.setup().data;
  if (kind == Kind::test && !data.val)  // each evaluation is of the test data
    return in_metrics(replay.step(), "the test", "there", "none, as there is no validation data");
  EvalReport report = replay.evaluate(kind == Kind::val ? data.selection() : *data.test);
  Numbers computed = {
      {fmt::format("{}/loss", word), report.loss},
      {fmt::format("{}/{}", word, to_string(report.metric.metric)), report.metric.value},
      {fmt::format("{}/samples", word), static_cast<double>(report.samples)}};
  for (const MetricValue& other : report.others)
    computed.emplace_back(fmt::format("{}/{}", word, to_string(other.metric)), other.value);
  return line_difference(*line, computed);
}

std::optional<TensorDifference> metadata_difference(const StateMetadata& saved, Replay& replay) {
  StateMetadata computed = replay.metadata();
  auto text = [](const auto& value) { return fmt::format("{}", value); };
  auto whole = [&](const StateMetadata& state) {
    return std::vector<std::pair<const char*, std::string>>{
        {"samples_seen", text(state.samples_seen)},
        {"epoch", text(state.epoch)},
        {"step_in_epoch", text(state.step_in_epoch)},
        {"optimizer_steps", text(state.optimizer_steps)},
        {"loss_scale", text(state.loss_scale)},
        {"loss_scale_steps", text(state.loss_scale_steps)},
        {"skipped_steps", text(state.skipped_steps)},
        {"skipped_in_row", text(state.skipped_in_row)},
        {"parameter_hash", state.parameter_hash},
        {"description of the data", state.data_spec},
        {"state of the guard", state.guard}};
  };
  auto recorded = whole(saved), expected = whole(computed);
  for (size_t i = 0; i < recorded.size(); ++i)
    if (recorded[i].second != expected[i].second)
      return TensorDifference{.step = saved.step,
                              .tensor = recorded[i].first,
                              .a = recorded[i].second,
                              .b = expected[i].second};
  return {};
}

}  // namespace spire
