#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/base/text.h"
#include "engine/observe/evaluations.h"
#include "engine/observe/formatting.h"
#include "engine/observe/report_text.h"

namespace spire {

namespace {

// "60 000 samples", "1 tower"
std::string plural(int64_t count, const char* noun) {
  return fmt::format("{} {}", count_text(count), noun_form(count, noun));
}

// Returns the cells that name a device: with its rank where there are several processes, since
// names are unique within a process only.
std::vector<std::string> name_cells(const StartInfo& start, const DeviceInfo& device) {
  if (start.processes == 1) return {device.name};
  return {fmt::format("rank {}", device.rank), device.name};
}

TextTable device_table(const StartInfo& start) {
  TextTable table;
  for (const auto& device : start.devices) {
    std::vector<std::string> row = name_cells(start, device);
    row.insert(row.end(), {device.description, plural(device.towers, "tower")});
    if (start.processes > 1) row.push_back(device.host);
    table.push_back(std::move(row));
  }
  return table;
}

// All kinds of memory that any device plans, in order of first appearance.
std::vector<std::string> memory_kinds(const StartInfo& start) {
  std::vector<std::string> kinds;
  for (const auto& device : start.devices)
    for (const auto& [kind, bytes] : device.planned_memory)
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  return kinds;
}

bool is_limited(const DeviceInfo& device) {
  return device.memory_limit > 0;
}

bool has_room(const DeviceInfo& device) {
  return device.fits_now.has_value();
}

// Makes a row for each device and a column for each kind; the columns "total" and, where any device
// has one, "limit" follow, and in a plan "free now" and "fits". The first cells of the heading
// stand above the names and are empty.
TextTable memory_table(const StartInfo& start) {
  std::vector<std::string> kinds = memory_kinds(start);
  if (kinds.empty()) return {};
  TextTable table = {std::vector<std::string>(name_cells(start, {}).size())};
  table[0].insert(table[0].end(), kinds.begin(), kinds.end());
  table[0].push_back("total");
  bool limited = std::any_of(start.devices.begin(), start.devices.end(), is_limited);
  if (limited) table[0].push_back("limit");
  bool room = std::any_of(start.devices.begin(), start.devices.end(), has_room);
  if (room) table[0].insert(table[0].end(), {"free now", "fits"});
  for (const auto& device : start.devices) {
    std::vector<std::string> row = name_cells(start, device);
    int64_t total = 0;
    for (const auto& kind : kinds) {
      // A device may list a kind several times, or not at all.
      int64_t bytes = 0;
      for (const auto& [planned, size] : device.planned_memory) bytes += planned == kind ? size : 0;
      row.push_back(bytes_text(bytes));
      total += bytes;
    }
    row.push_back(bytes_text(total));
    if (limited) row.push_back(is_limited(device) ? bytes_text(device.memory_limit) : "");
    if (has_room(device)) {
      row.push_back(device.memory_free ? bytes_text(*device.memory_free) : "unknown");
      row.push_back(*device.fits_now ? "yes" : "no");
    }
    table.push_back(std::move(row));
  }
  return table;
}

// "256 = 2 towers × 128, 1 thread per tower", "128 = 3 towers × 43, the last 42"
std::string batch_text(const StartInfo& start) {
  std::string text = fmt::format("{} = {} × {}", start.global_batch, plural(start.towers, "tower"),
                                 start.batch_size);
  if (int64_t rest = start.global_batch % start.batch_size; rest > 0)
    text += fmt::format(", the last {}", rest);
  if (start.tower_threads > 0)
    text += fmt::format(", {} per tower", plural(start.tower_threads, "thread"));
  return text;
}

// "0.4 = 0.1 × 4 (linear, global batch 256 / 64)"
std::string lr_text(const StartInfo& start) {
  if (start.lr_scaling.empty()) return "";
  if (start.lr_scaling == "none" || start.base_lr == 0)
    return fmt::format("{:.6g}, not scaled with the batch", start.lr);
  return fmt::format("{:.6g} = {:.6g} × {:.6g} ({}, global batch {} / {})", start.lr, start.base_lr,
                     start.lr / start.base_lr, start.lr_scaling, start.global_batch,
                     start.base_batch);
}

std::string processes_text(const StartInfo& start) {
  if (start.processes == 1) return "";
  std::string text = count_text(start.processes);
  return start.transport.empty() ? text : text + " over " + start.transport;
}

std::string recompute_text(const StartInfo& start) {
  if (!start.recompute) return "";
  if (start.recompute->nodes == 0) return "blocks, but this model has none: nothing is recomputed";
  return fmt::format("blocks: {} of activations per tower, {} without",
                     bytes_text(start.recompute->bytes),
                     bytes_text(start.recompute->bytes_without));
}

std::string strategy_text(const StartInfo& start) {
  if (start.strategy.empty() || start.reduction.empty()) return start.strategy;
  return fmt::format("{}, {} reduction", start.strategy, start.reduction);
}

// Splits text into rows, one a line.
TextTable lines_of(std::string_view text) {
  TextTable lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.push_back({std::string(text.substr(0, end))});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// "10 epochs × 235 steps = 2 350 steps"; no product where config key `steps` sets the end.
std::string length_text(const StartInfo& start) {
  if (start.epochs * start.steps_per_epoch == start.total_steps)
    return fmt::format("{} × {} = {}", plural(start.epochs, "epoch"),
                       plural(start.steps_per_epoch, "step"), plural(start.total_steps, "step"));
  return fmt::format("{}, {} per epoch", plural(start.total_steps, "step"),
                     count_text(start.steps_per_epoch));
}

}  // namespace

std::string start_block(const StartInfo& start) {
  // The model and its data, then the machine, then the run. Sections leaves out empty lines.
  Sections block;
  std::string note = start.model_note.empty() ? "" : fmt::format(" ({})", start.model_note);
  block.add("model", fmt::format("{}{}, {}, {}", start.model, note,
                                 plural(start.parameters, "parameter"), start.precision));
  if (start.frozen > 0)
    block.add("frozen", fmt::format("{}; {} are trained", plural(start.frozen, "parameter"),
                                    count_text(start.parameters - start.frozen)));
  block.add("weights", start.initial_weights);
  block.add("teacher", lines_of(start.teacher));
  block.add("task", start.task);
  std::string validation = start.val_samples == 0
                               ? ""
                               : fmt::format("{} for validation, ", count_text(start.val_samples));
  block.add("data", fmt::format("{}, {} for training, {}{} for testing", start.dataset,
                                plural(start.train_samples, "sample"), validation,
                                count_text(start.test_samples)));
  block.add("best", start.best_by);
  block.add("processes", processes_text(start));
  block.add("devices", device_table(start));
  block.add("cores", lines_of(start.cores));
  if (!start.device_note.empty()) block.add("chosen", start.device_note);
  block.add("exchange", start.exchange);
  block.add("global batch", batch_text(start));
  block.add("batch_size", lines_of(start.batch_note));
  block.add("lr", lr_text(start));
  block.add("strategy", strategy_text(start));
  block.add("length", length_text(start));
  block.add("memory", memory_table(start));
  block.add("host memory", start.host_memory);
  block.add("checkpoints", start.checkpoints);
  block.add("recompute", recompute_text(start));
  block.add("repeatable", lines_of(start.guarantee));
  block.add("output", start.output);
  if (!start.resumed_from.empty())
    block.add("resumed", fmt::format("at step {} from {}", count_text(start.resumed_step),
                                     start.resumed_from));
  return block.text();
}

namespace {

// "0.9310, rmse 0.0231 with loss 0.0005": the metric that decides, and the task's where that is
// another.
template <typename Evaluation>
std::string figures_text(const Evaluation& measured, Metric decides) {
  std::string text;
  if (decides != measured.metric.metric) {
    auto value = measured_value(measured, decides);
    text = fmt::format("{}{} ", value ? metric_text({decides, *value}) + ", " : "",
                       to_string(measured.metric.metric));
  }
  return fmt::format("{}{} with loss {}", text, metric_text(measured.metric),
                     loss_text(measured.loss));
}

std::string validation_text(const ValidationSummary& val) {
  if (!val.measured) return "";
  return fmt::format("{} on the {} data, last {}", metric_text({val.best_by, val.best}),
                     name_of_data(val.held_out), figures_text(val, val.best_by));
}

// The figure of unseen data stands before the one by which the weights were chosen.
void add_results(const RunSummary& summary, Sections& block) {
  Metric decides = summary.val.best_by;
  if (const auto& test = summary.test) {
    Metric shown = measured_value(*test, decides) ? decides : test->metric.metric;
    block.add(
        fmt::format("test {}", to_string(shown)),
        fmt::format("{}, weights of step {}", figures_text(*test, shown), count_text(test->step)));
  }
  block.add(fmt::format("best {}", to_string(decides)), validation_text(summary.val));
}

// "arena 44.0 MiB (planned 40.0 MiB), host_rss 200.0 MiB": the plan of kinds that differ from it.
std::string memory_text(const RunSummary& summary) {
  std::string text;
  for (const auto& [kind, bytes] : summary.peak_memory_bytes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind, bytes_text(bytes));
    auto planned = summary.planned_memory_bytes.find(kind);
    if (planned != summary.planned_memory_bytes.end() && planned->second != bytes)
      text += fmt::format(" (planned {})", bytes_text(planned->second));
  }
  return text;
}

TextTable verdict_lines(const RunSummary& summary) {
  TextTable lines;
  for (const std::string& line : summary.verdict) lines.push_back({line});
  return lines;
}

}  // namespace

std::string end_block(const RunSummary& summary) {
  Sections block;
  // Of an error with several lines the block shows the first.
  if (!summary.stopped_by.empty() || summary.exit != 0)
    block.add("stopped", fmt::format("{} (exit {})",
                                     summary.stopped_by.substr(0, summary.stopped_by.find('\n')),
                                     summary.exit));
  add_results(summary, block);
  block.add("time", fmt::format("{} for {} {}, {:.4g} {}", duration_text(summary.seconds),
                                count_text(summary.steps), noun_form(summary.steps, "step"),
                                summary.epochs, summary.epochs == 1 ? "epoch" : "epochs"));
  if (summary.samples_per_s > 0)
    block.add("speed",
              fmt::format("{} samples/s", count_text(std::llround(summary.samples_per_s))));
  block.add("verdict", verdict_lines(summary));
  block.add("peak memory", memory_text(summary));
  block.add("checkpoint", summary.checkpoint);
  block.add("metrics", summary.metrics);
  block.add("output", summary.output);
  // The hashes come last: scripts read the last line.
  block.add("ema hash", summary.ema_hash);
  block.add("parameter hash", summary.parameter_hash);
  return block.text();
}

}  // namespace spire
