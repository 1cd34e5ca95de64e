#include "engine/observe/verdict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <ranges>

#include <fmt/ranges.h>

#include "engine/base/crowded.h"
#include "engine/base/text.h"
#include "engine/observe/device_watch.h"
#include "engine/observe/records.h"

namespace spire {
namespace {

using Lines = std::vector<std::string>;

// "12 min", "45 s", "1.5 h"
std::string rough_duration(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 120 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

// "cuda:0, cuda:1 and 6 more"
std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t most = 4;
  if (names.size() <= most) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + most - 1, ", "),
                     names.size() - most + 1);
}

// Means over the steps and this process's devices, in seconds.
double mean_of(double DeviceTotals::*sum_ms, const RunNumbers& run, const DeviceHistory& history) {
  if (history.steps() == 0 || run.end <= run.first) return 0;
  double sum = 0;
  for (size_t d = run.first; d < run.end; ++d) sum += history.devices()[d].*sum_ms;
  return 1e-3 * sum / static_cast<double>(history.steps()) /
         static_cast<double>(run.end - run.first);
}

int ranks_of(const RunNumbers& run) {
  return run.labels.empty() ? 1 : std::ranges::max(run.labels, {}, &DeviceLabel::rank).rank + 1;
}

// Those that held up the others at least half as much as the one that did most.
std::vector<std::string> late_ranks(const RunNumbers& run, const DeviceHistory& history) {
  std::map<int, double> late;
  for (size_t d = 0; d < run.labels.size(); ++d)
    late[run.labels[d].rank] += history.devices()[d].data_late_ms;
  double most = std::ranges::max(late | std::views::values);
  std::vector<std::string> names;
  for (auto [rank, sum] : late)
    if (2 * sum >= most) names.push_back(fmt::format("rank {}", rank));
  return names;
}

// Where several ranks wait for each other, one rank's wait for data is a wait of all.
void add_input_of_ranks(const RunNumbers& run, const DeviceHistory& history, Lines& lines) {
  double late = 0;
  for (const DeviceTotals& device : history.devices()) late += 1e-3 * device.data_late_ms;
  double share = history.seconds() > 0 ? late / history.seconds() : 0;
  if (share < input_bound_share) return;
  std::vector<std::string> names = late_ranks(run, history);
  bool all = std::ssize(names) == ranks_of(run), one = names.size() == 1;
  lines.push_back(fmt::format(
      "input-bound {:.0f} %: {}; raise data.workers (now {})", 100 * share,
      all ? "all ranks wait for their data"
          : fmt::format("{} {} for {} data, and the others for {}", list_of(names),
                        one ? "waits" : "wait", one ? "its" : "their", one ? "it" : "them"),
      run.data_workers));
}

void add_input(const RunNumbers& run, const DeviceHistory& history, Lines& lines) {
  if (ranks_of(run) > 1) return add_input_of_ranks(run, history, lines);
  double share = run.times.data / total_of(run.times);
  if (share < input_bound_share) return;
  lines.push_back(fmt::format("input-bound {:.0f} %: raise data.workers (now {})", 100 * share,
                              run.data_workers));
}

// What is left of the wait for gradients when all devices, and all lanes of a device, are ready.
void add_communication(const RunNumbers& run, const DeviceHistory& history, Lines& lines) {
  double wait = run.times.reduce - mean_of(&DeviceTotals::waiting_ms, run, history) -
                mean_of(&DeviceTotals::lane_wait_ms, run, history);
  double share = wait / total_of(run.times);
  if (run.labels.size() < 2 || share < communication_share) return;
  lines.push_back(
      fmt::format("communication-bound {:.0f} %: a larger batch_size sends as much for more "
                  "samples",
                  100 * share));
}

void add_lanes(const RunNumbers& run, const DeviceHistory& history, Lines& lines) {
  double share = mean_of(&DeviceTotals::lane_wait_ms, run, history) / total_of(run.times);
  if (share < lane_wait_share) return;
  lines.push_back(
      fmt::format("lanes of a device wait {:.0f} % for each other: choose towers that they divide "
                  "evenly, or look for other work on their cores",
                  100 * share));
}

// Others on the run's cores leave its threads fewer than they want.
void add_load(const RunNumbers& run, const DeviceHistory& history, Lines& lines) {
  if (run.cores == 0 || run.first >= history.devices().size()) return;
  const TimedMean& others = history.devices()[run.first].others_cores;
  if (others.seconds < load_seconds || !crowded(others.mean(), run.threads, run.cores)) return;
  lines.push_back(fmt::format("others use {:.1f} of {}: steps wait for them", others.mean(),
                              counted(run.cores, "core")));
}

void add_straggler(const RunNumbers& run, const DeviceHistory& history, Lines& lines) {
  auto found = history.straggler();
  if (!found || found->share < straggler_share || found->lag < straggler_lag) return;
  lines.push_back(straggler_text(run.labels, history, *found));
}

// Devices with the same trouble share a line.
void add_throttled(const RunNumbers& run, const DeviceHistory& history, Lines& lines) {
  struct Group {
    std::vector<std::string> names;
    double seconds = 0;  // the longest of all
  };
  std::map<std::string_view, Group> groups;
  std::map<std::string_view, const ThrottleWords*> words_of;
  for (size_t d = 0; d < run.labels.size(); ++d) {
    auto throttled = history.throttled(d);
    if (!throttled || throttled->second < verdict_seconds ||
        throttled->second < throttled_share * history.seconds())
      continue;
    const ThrottleWords* words = throttle_words(throttled->first);
    Group& group = groups[words->text];
    group.names.push_back(run.labels[d].name);
    group.seconds = std::max(group.seconds, throttled->second);
    words_of[words->text] = words;
  }
  for (const auto& [text, group] : groups)
    lines.push_back(fmt::format("{} {} for {}{}: {}", list_of(group.names), text,
                                group.names.size() > 1 ? "up to " : "",
                                rough_duration(group.seconds), words_of[text]->remedy));
}

void add_idle(const RunNumbers& run, const DeviceHistory& history, Lines& lines) {
  std::vector<std::string> names;
  double least = 1, most = 0;
  for (size_t d = 0; d < run.labels.size(); ++d) {
    const TimedMean& busy = history.devices()[d].busy;
    double idle = 1 - busy.mean();
    if (busy.seconds < verdict_seconds || idle < idle_share) continue;
    names.push_back(run.labels[d].name);
    least = std::min(least, idle);
    most = std::max(most, idle);
  }
  if (names.empty()) return;
  bool one = names.size() == 1;
  std::string share = fmt::format("{:.0f}", 100 * least);
  if (std::string other = fmt::format("{:.0f}", 100 * most); other != share)
    share += " to " + other;
  lines.push_back(fmt::format("{} idle {} %: {}", list_of(names), share,
                              one ? "it costs the same" : "they cost the same"));
}

void add_compute(const RunNumbers& run, Lines& lines) {
  double share = (run.times.forward + run.times.backward) / total_of(run.times);
  if (share < 0.5) return;
  lines.push_back(
      fmt::format("compute-bound {:.0f} %: forward and backward fill the steps", 100 * share));
}

}  // namespace

std::vector<std::string> verdict(const RunNumbers& run, const DeviceHistory& history) {
  Lines lines;
  if (history.steps() < verdict_steps || total_of(run.times) <= 0) return lines;
  add_load(run, history, lines);
  add_input(run, history, lines);
  add_communication(run, history, lines);
  add_lanes(run, history, lines);
  add_straggler(run, history, lines);
  add_throttled(run, history, lines);
  add_idle(run, history, lines);
  if (lines.empty()) add_compute(run, lines);
  return lines;
}

}  // namespace spire
