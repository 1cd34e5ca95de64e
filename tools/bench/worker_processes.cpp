#include "tools/bench/worker_processes.h"

#include <algorithm>
#include <chrono>
#include <csignal>

#include <spire/error.h>

#include "tools/config_source.h"
#include "tools/process/attempt.h"
#include "tools/process/captured_output.h"

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

std::vector<std::string> worker_words(const ConfigSnapshot& config, const BenchRun& run) {
  std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
  return {"bench-worker",
          "--config",
          config.path(),
          "--steps",
          std::to_string(run.steps),
          "--warmup",
          std::to_string(run.warmup),
          "--started",
          std::to_string(now.count())};
}

}  // namespace

std::vector<ProcessOutput> WorkerProcesses::run(const BenchRun& run) {
  ConfigSnapshot config({run.config, {}, {}});
  std::vector<Captured> captured(static_cast<size_t>(run.processes));
  AttemptSetup setup{.words = worker_words(config, run),
                     .ranks = run.processes > 1 ? static_cast<int>(run.processes) : 0,
                     .cores = run.cores};
  if (!run.gpus.empty()) setup.variables = {{"CUDA_VISIBLE_DEVICES", run.gpus}};
  for (const Captured& each : captured)
    setup.streams.push_back({each.out.descriptor(), each.err.descriptor()});
  AttemptEnd end = Attempt(setup, signals_).wait();
  if (end.stopped_by != 0) fail(Category::interrupted, "stopped by a signal");
  if (Outcome outcome = judge(end.statuses); outcome.code != 0) fail_with(outcome, captured);
  std::vector<ProcessOutput> outputs;
  for (const Captured& each : captured) outputs.push_back({each.out.text(), each.err.text()});
  return outputs;
}

}  // namespace spire
