#include <algorithm>
#include <chrono>
#include <csignal>

#include <spire/error.h>

#include "engine/device/load/host_use.h"
#include "engine/device/topology.h"
#include "tools/bench/report/bench_files.h"
#include "tools/bench/runs/measure.h"
#include "tools/bench/runs/rounds.h"
#include "tools/config_source.h"
#include "tools/process/attempt.h"

namespace spire {
namespace {

// stdout and stderr of one process.
struct Captured {
  CapturedOutput out, err;
};

[[noreturn]] void fail_with(const Outcome& outcome, const std::vector<Captured>& captured) {
  auto rank = static_cast<size_t>(std::max(0, outcome.cause.rank));
  std::string text = reported_error(captured[rank].err.text());
  if (outcome.cause.signal != 0 || text.empty()) text = to_string(outcome.cause);
  if (outcome.cause.signal == SIGKILL)
    text += "; the system does that where memory is short: see dmesg, or lower batch_size";
  bool known = outcome.code <= static_cast<int>(Category::collective);
  throw Error(known ? static_cast<Category>(outcome.code) : Category::unexpected, text);
}

std::vector<std::string> worker_words(const ConfigSnapshot& config, int64_t steps, int64_t warmup) {
  std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
  return {"bench-worker",
          "--config",
          config.path(),
          "--steps",
          std::to_string(steps),
          "--warmup",
          std::to_string(warmup),
          "--started",
          std::to_string(now.count())};
}

// The measurement is the last line on stdout, since libraries may print others before it.
Measurement measurement_of(const Captured& process) {
  std::string out = process.out.text();
  while (out.ends_with('\n')) out.pop_back();
  std::string line = out.substr(out.rfind('\n') + 1);  // npos + 1 is 0
  try {
    return parse_measurement_json(line, "its last line");
  } catch (const Error& error) {
    fail(Category::unexpected, "a process ended without a measurement: {}; it printed: {}",
         error.what(), line.empty() ? process.err.text() : line);
  }
}

}  // namespace

Measurement WorkerRuns::run(const Variant& variant, int64_t steps, int64_t warmup) {
  OtherLoad others(discover_topology().cores);
  if (!signals_) signals_.emplace();
  ConfigSnapshot config({config_of(variant, config_), {}, {}});
  std::vector<Captured> captured(static_cast<size_t>(variant.processes));
  AttemptSetup setup{.words = worker_words(config, steps, warmup),
                     .ranks = variant.processes > 1 ? static_cast<int>(variant.processes) : 0,
                     .cores = variant_cores(variant, devices_)};
  if (std::string gpus = variant_gpus(variant, devices_); !gpus.empty())
    setup.variables = {{"CUDA_VISIBLE_DEVICES", gpus}};
  for (const Captured& each : captured)
    setup.streams.push_back({each.out.descriptor(), each.err.descriptor()});
  AttemptEnd end = Attempt(setup, *signals_).wait();
  if (end.stopped_by != 0) fail(Category::interrupted, "stopped by a signal");
  if (Outcome outcome = judge(end.statuses); outcome.code != 0) fail_with(outcome, captured);
  std::vector<Measurement> ranks;
  for (const Captured& process : captured) ranks.push_back(measurement_of(process));
  Measurement measured = combined(ranks);
  measured.others_cores = others.read();  // the processes have ended, and so do not count
  return measured;
}

}  // namespace spire
