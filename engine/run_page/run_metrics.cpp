#include "engine/run_page/run_metrics.h"

#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/read_file.h"
#include "engine/observe/best_mode.h"
#include "engine/observe/file_lines.h"

namespace spire::inline run_page {
namespace {

using Json = nlohmann::json;

constexpr std::array metrics = {Metric::accuracy, Metric::perplexity, Metric::psnr, Metric::rmse,
                                Metric::exact_match};

// The tags of StepTimes in metrics.jsonl, in the order of step_parts.
constexpr std::array<const char*, step_parts.size()> time_tags = {
    "time/data_wait_ms", "time/copy_ms",   "time/forward_ms",   "time/backward_ms",
    "time/comm_wait_ms", "time/update_ms", "time/replicate_ms", "time/other_ms"};

// Returns none where the record lacks the number, NaN where it was not finite.
std::optional<double> number(const Json& record, const std::string& key) {
  auto found = record.find(key);
  if (found == record.end()) return {};
  if (found->is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!found->is_number()) return {};
  return found->get<double>();
}

int64_t count(const Json& record, const char* key, int64_t otherwise) {
  auto found = record.find(key);
  return found != record.end() && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}

std::string word(const Json& record, const char* key) {
  auto found = record.find(key);
  return found != record.end() && found->is_string() ? found->get<std::string>() : "";
}

class Reader {
 public:
  explicit Reader(const BestConfig& best) : best_(best) {}

  // Takes a line; returns whether it is a record of a run.
  bool take(std::string_view line) {
    Json record = Json::parse(line, nullptr, false);
    if (!record.is_object()) return false;
    int64_t step = count(record, "step", -1);
    if (step < 0) return false;
    if (std::string time = word(record, "time"); !time.empty()) {
      if (result_.first_time.empty()) result_.first_time = time;
      result_.last_time = time;
    }
    ++result_.lines;
    if (record.contains("device")) {
      take_device(record);
    } else if (record.contains("val/loss")) {
      take_evaluation(record, step);
    } else if (record.contains("train/loss")) {
      take_step(record, step);
    }
    return true;
  }
  RunMetrics& result() { return result_; }

 private:
  void take_step(const Json& record, int64_t step) {
    RunMetrics& r = result_;
    r.steps = step;
    r.epoch = position(record);
    double loss = number(record, "train/loss").value_or(std::nan(""));
    if (!std::isfinite(loss) && r.not_finite++ == 0) r.first_not_finite = step;
    r.train_loss.add(r.epoch, loss);
    auto add = [&](ThinCurve& curve, const std::string& key) {
      if (auto value = number(record, key)) curve.add(r.epoch, *value);
    };
    add(r.lr, "train/lr");
    add(r.grad_norm, "train/grad_norm");
    add(r.samples_per_s, "perf/samples_per_s");
    if (auto metric = metric_of(record, "train/")) add(r.train_metric, tag("train/", *metric));
    for (size_t part = 0; part < time_tags.size(); ++part)
      r.times[part].add(r.epoch, number(record, time_tags[part]).value_or(0));
    r.skipped_steps = count(record, "train/skipped_steps", r.skipped_steps);
    r.bad_steps = count(record, "train/bad_steps", r.bad_steps);
    r.rollbacks = count(record, "train/rollbacks", r.rollbacks);
  }

  void take_evaluation(const Json& record, int64_t step) {
    RunMetrics& r = result_;
    double epoch = position(record);
    r.val_loss.add(epoch, number(record, "val/loss").value_or(std::nan("")));
    auto metric = metric_of(record, "val/");
    if (!metric) return;
    r.val_metric.add(epoch, *number(record, tag("val/", *metric)));
    r.best_by = find_metric(best_.metric).value_or(*metric);  // "auto": no metric's name
    double value = number(record, tag("val/", *r.best_by)).value_or(std::nan(""));
    if (r.best_by != r.metric && r.best_by != Metric::loss) r.decides.add(epoch, value);
    bool higher = best_is_higher(best_, *r.best_by);
    if (std::isfinite(value) && (!r.best || better_by(higher, value, *r.best))) {
      r.best = value;
      r.best_step = step;
    }
  }

  // Lines of devices have no epoch: that of the newest step counts.
  void take_device(const Json& record) {
    int64_t rank = count(record, "rank", 0);
    std::string name = word(record, "device");
    DeviceCurves& device = result_.devices[rank > 0 ? fmt::format("rank {} {}", rank, name) : name];
    auto add = [&](ThinCurve& curve, const char* key) {
      if (auto value = number(record, key)) curve.add(result_.epoch, *value);
    };
    add(device.arrival_ms, "device/arrival_ms");
    add(device.busy, "device/busy");
    add(device.memory_used, "device/memory_used_bytes");
    add(device.celsius, "device/celsius");
    add(device.watts, "device/watts");
    add(device.clock_mhz, "device/clock_mhz");
    device.memory_total = number(record, "device/memory_total_bytes").value_or(device.memory_total);
    auto reasons = record.find("device/throttled");
    if (reasons == record.end() || !reasons->is_array()) return;
    for (const Json& reason : *reasons)
      if (reason.is_string()) ++device.throttled[reason.get<std::string>()];
  }

  double position(const Json& record) const {
    double epoch = number(record, "epoch").value_or(result_.epoch);
    return std::isfinite(epoch) ? epoch : result_.epoch;
  }

  static std::string tag(const char* group, Metric metric) {
    return group + std::string(name(metric));
  }

  std::optional<Metric> metric_of(const Json& record, const char* group) {
    for (Metric metric : metrics) {
      if (!number(record, tag(group, metric))) continue;
      result_.metric = metric;
      return metric;
    }
    return {};
  }

  BestConfig best_;
  RunMetrics result_;
};

}  // namespace

RunMetrics read_run_metrics(const std::filesystem::path& path, const BestConfig& best) {
  Reader reader(best);
  auto file = RegularFile::if_there(path, Category::config);
  if (!file) return {};
  for_each_line(
      *file,
      [&](std::string_view line) {
        if (!reader.take(line)) ++reader.result().unreadable;
      },
      [&](std::string_view line) { reader.take(line); });
  return std::move(reader.result());
}

}  // namespace spire::inline run_page
