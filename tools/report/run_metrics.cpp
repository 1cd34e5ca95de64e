#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/read_file.h"
#include "engine/observe/evaluations.h"
#include "engine/observe/json_lines.h"
#include "engine/observe/records.h"
#include "tools/report/run_files.h"

namespace spire {
namespace {

using Json = nlohmann::json;

constexpr std::array metrics = {Metric::accuracy, Metric::perplexity, Metric::psnr, Metric::rmse,
                                Metric::exact_match};

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
    metric_of(record, "train/");
    take_curves(record, r.curves, r.epochs);
    for (const StepPart& part : step_parts) {  // each step has a value of all
      std::string time_tag(part.tag);
      double time = number(record, time_tag).value_or(0);
      r.curves[time_tag].add(r.epoch, time);
      r.epochs[time_tag].add(r.epoch, time, present_epoch());
    }
    r.skipped_steps = count(record, "train/skipped_steps", r.skipped_steps);
    r.bad_steps = count(record, "train/bad_steps", r.bad_steps);
    r.rollbacks = count(record, "train/rollbacks", r.rollbacks);
  }

  void take_evaluation(const Json& record, int64_t step) {
    RunMetrics& r = result_;
    take_curves(record, position(record), r.curves);
    auto metric = metric_of(record, "val/");
    if (!metric) return;
    r.best_by = find_metric(best_.metric).value_or(*metric);  // "auto": no metric's name
    double value = number(record, tag("val/", *r.best_by)).value_or(std::nan(""));
    bool higher = best_is_higher(best_, *r.best_by);
    if (std::isfinite(value) && (!r.best || is_better(higher, value, *r.best))) {
      r.best = value;
      r.best_step = step;
    }
  }

  // Lines of devices have no epoch: that of the newest step counts.
  void take_device(const Json& record) {
    int64_t rank = count(record, "rank", 0);
    std::string name = word(record, "device");
    DeviceCurves& device = result_.devices[rank > 0 ? fmt::format("rank {} {}", rank, name) : name];
    take_curves(record, device.curves, device.epochs);
    auto reasons = record.find("device/throttled");
    if (reasons == record.end() || !reasons->is_array()) return;
    for (const Json& reason : *reasons)
      if (reason.is_string()) ++device.throttled[reason.get<std::string>()];
  }

  int64_t present_epoch() const { return static_cast<int64_t>(std::ceil(result_.epoch - 1e-9)); }

  // Numbers whose tags have a group, but for the times of steps.
  static void take_curves(const Json& record, double epoch, Curves& curves, int64_t group = -1) {
    for (const auto& [tag, value] : record.items())
      if (tag.find('/') != tag.npos && !tag.starts_with("time/") &&
          (value.is_number() || value.is_null()))
        curves[tag].add(epoch, *number(record, tag), group);
  }
  void take_curves(const Json& record, Curves& steps, Curves& epochs) const {
    take_curves(record, result_.epoch, steps);
    take_curves(record, result_.epoch, epochs, present_epoch());
  }

  double position(const Json& record) const {
    double epoch = number(record, "epoch").value_or(result_.epoch);
    return std::isfinite(epoch) ? epoch : result_.epoch;
  }

  static std::string tag(const char* group, Metric metric) {
    return group + std::string(to_string(metric));
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

}  // namespace spire
