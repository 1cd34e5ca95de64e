// trainer sweep: trains a config at each point of a grid over its keys, several runs at a time.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include <CLI/CLI.hpp>

#include <spire/world.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_source.h"
#include "tools/output/streams.h"
#include "tools/sweep/plan.h"
#include "tools/sweep/runs.h"

namespace spire {

namespace {

using State = PointResult::State;

void refuse_launched_sweep(const Launch& launch) {
  if (launch.size == 1) return;
  fail(Category::config,
       "trainer sweep starts its runs itself, and {0} has started it as one of {1} processes; "
       "start it without {0}",
       launch.launcher, launch.size);
}

// The words of a sweep that goes on come from its folder alone.
void refuse_words_beside_resume(const Arguments& arguments) {
  if (arguments.configs.empty() && arguments.overrides.empty() && arguments.sweep.grid.empty())
    return;
  fail(Category::config,
       "--resume takes config and grid from the folder; leave the others out, or give the whole "
       "command again, without --resume");
}

// Beside the output of a single run, unless the command line names the folder.
std::filesystem::path folder_of(const Arguments& arguments, const SweepPoint& point) {
  if (arguments.resume) return *arguments.resume;
  const std::string& output = point.resolved.config.output;
  bool named = std::ranges::any_of(
      arguments.overrides, [](const std::string& word) { return word.starts_with("output="); });
  return named ? output : output + "_sweep";
}

// Reads the request of a sweep that goes on, before its folder is locked.
SweepRequest recorded_request(const std::filesystem::path& folder) {
  auto recorded = read_recorded_sweep(folder);
  if (!recorded)
    fail(Category::config, "--resume {}: there is no sweep.json; no sweep has begun there",
         folder.string());
  return recorded->request;
}

// Waits for idle GPUs until a signal asks to end.
SlotQueue queue_with(BlockedSignals& signals) {
  auto wait = [&signals](double seconds) {
    auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(seconds));
    return !signals.stopped_before(std::chrono::steady_clock::now() + time);
  };
  return {wait, [](std::string_view line) { print_log("{}\n", line); }};
}

// Throws if the folder holds other points; else takes towers and threads as they began.
void match_recorded(const SweepFolder& folder, const std::vector<SweepSlot>& slots,
                    std::vector<SweepPoint>& points) {
  auto recorded = read_recorded_sweep(folder.path());
  if (!recorded) return;
  std::vector<SweepPoint> there = sweep_points(recorded->request, slots);
  std::vector<std::string> different = sweep_differences(there, points);
  if (!different.empty()) {
    size_t shown = std::min<size_t>(different.size(), 8);
    std::string lines;
    for (size_t i = 0; i < shown; ++i) lines += (i > 0 ? "; " : "") + different[i];
    if (shown < different.size()) lines += fmt::format("; and {} more", different.size() - shown);
    fail(Category::config, "output: {} holds another sweep: {}; name another folder with --output",
         folder.path().string(), lines);
  }
  for (size_t i = 0; i < points.size(); ++i) {
    points[i].towers = recorded->towers.at(i);
    points[i].tower_threads = recorded->tower_threads.at(i);
  }
}

void print_point_warnings(const std::vector<SweepPoint>& points) {
  std::set<std::string> known;
  for (const SweepPoint& point : points)
    for (const std::string& warning : point.resolved.warnings)
      if (known.insert(warning).second) print_log("warning: {}\n", warning);
}

// Throws with the exit code of the whole sweep, unless each run is done or has diverged, which is a
// result, too.
void report_failures(const SweepReport& report, SweepRuns::End end) {
  auto count = [&](State state) {
    return std::ranges::count(report.results, state, &PointResult::state);
  };
  auto left = count(State::interrupted) + count(State::waiting);
  bool stopped = end == SweepRuns::End::stopped || count(State::failed) == 0;
  if (left > 0 && stopped)
    fail(Category::interrupted, "stopped by a signal; the same command goes on");
  auto failed = std::ranges::find(report.results, State::failed, &PointResult::state);
  if (failed != report.results.end()) {
    bool known = failed->exit <= static_cast<int>(Category::collective);
    const SweepPoint& point = report.points[static_cast<size_t>(failed - report.results.begin())];
    throw Error(known ? static_cast<Category>(failed->exit) : Category::collective,
                fmt::format("{} of {} failed, the first: {}: {}; the same command tries them again",
                            count(State::failed), counted(std::ssize(report.points), "point"),
                            point.name, failed->message));
  }
  if (count(State::done) == 0) fail(Category::diverged, "all points diverged");
}

class Sweep {
 public:
  // slots, signals: outlive this.
  Sweep(const Arguments& arguments, SweepReport report, const std::vector<SweepSlot>& slots,
        BlockedSignals& signals)
      : arguments_(arguments),
        report_(std::move(report)),
        slots_(slots),
        signals_(signals),
        folder_(folder_of(arguments, report_.points.front()), signals_) {}

  int run() {
    match_recorded(folder_, slots_, report_.points);
    SweepRuns runs(report_, slots_, folder_, signals_,
                   {.max_restarts = arguments_.max_restarts,
                    .log = [this](const std::string& line) { log(line); },
                    .on_result = [this] { write(); }});
    folder_.write(report_);
    log(fmt::format("{} on {}, in {}", counted(std::ssize(report_.points), "point"),
                    counted(std::ssize(slots_), "slot"), folder_.path().string()));
    SweepRuns::End end = runs.run();
    if (end == SweepRuns::End::killed) return 128 + SIGINT;
    write();
    result_text(sweep_table(report_));
    if (!lost_.empty()) fail(Category::config, "{}", lost_);
    print_result("\nwritten: {0}/sweep.html, {0}/sweep.json, {0}/sweep.csv\n",
                 folder_.path().string());
    report_failures(report_, end);
    return 0;
  }

 private:
  void log(const std::string& line) const {
    if (arguments_.quiet || arguments_.log_level != "info") return;
    print_log("{} {}\n", utc_text(std::chrono::system_clock::now()), line);
  }

  // A full disk must not end the runs; the last call counts.
  void write() {
    lost_.clear();
    try {
      folder_.write(report_);
    } catch (const Error& error) {
      lost_ = error.what();
    }
  }

  const Arguments& arguments_;
  SweepReport report_;
  const std::vector<SweepSlot>& slots_;
  BlockedSignals& signals_;
  SweepFolder folder_;
  std::string lost_;  // why the files lack results
};

}  // namespace

void add_sweep_options(CLI::App& app, ParsedWords& words) {
  Arguments& a = words.arguments;
  add_key_options(app, words);
  app.add_option("--grid", a.sweep.grid, "YAML file with axes: optimizer.lr: [0.1, 0.05]")
      ->type_name("FILE");
  app.add_option("-j,--jobs", a.sweep.jobs,
                 "runs at a time; on CPUs each has its share of the cores (default: one run with "
                 "all of them), on GPUs one GPU (default: one run on each)")
      ->check(integer_between(1, 4096))
      ->type_name("N");
  add_list(app, "--devices", a.sweep.devices,
           "the devices, one for each run at a time: cuda:0,cuda:2 or 4xcpu")
      ->type_name("DEVICE,...");
  app.add_option("-o,--output", words.output,
                 "folder of the sweep; default: output of the config with _sweep behind it")
      ->type_name("DIR");
  app.add_option("--resume", a.resume,
                 "go on with the sweep in that folder; the whole command again does the same")
      ->type_name("DIR");
  app.add_option("--max-restarts", a.max_restarts, "of each run, as of trainer train")
      ->check(integer_between(0, 1'000'000))
      ->type_name("M");
  app.add_option("--seed", words.seed, "the same as seed=N; several: --seed 1,2,3")
      ->type_name("N,...");
  add_log_options(app, a);
  app.footer(
      "A key with several values, separated by commas, is an axis of the grid; each combination "
      "is\n"
      "a run of its own, in a folder of its own. [64,32] is one value, [64],[32] are two.\n"
      "Prints a table, the best first, and writes it as sweep.html, .json and .csv. Runs that "
      "fail\n"
      "are reported, and the others go on. After Ctrl+C, a kill or a power cut the same command\n"
      "goes on: runs that have ended stay, others resume from their checkpoints. Exit code 0: all\n"
      "runs are done or have diverged; 75: stopped; else that of the first run that failed.\n\n"
      "  trainer sweep --config run.yaml optimizer.lr=0.1,0.05,0.02 model.depth=8,20 --jobs 2\n"
      "  trainer sweep --config run.yaml --seed 1,2,3 --devices cuda:0,cuda:2 -o runs/seeds\n");
}

int run_sweep(const Arguments& arguments) {
  refuse_launched_sweep(read_launch(process_environment()));
  if (arguments.resume) refuse_words_beside_resume(arguments);
  BlockedSignals signals;  // before any thread starts
  SweepReport report;
  report.request = arguments.resume ? recorded_request(*arguments.resume)
                                    : read_sweep_request(arguments.configs, arguments.overrides,
                                                         arguments.sweep.grid);
  std::vector<std::string> asked = arguments.sweep.devices;
  if (asked.empty()) asked = environment_devices();
  SweepSlots chosen({asked, arguments.sweep.jobs}, first_config(report.request),
                    queue_with(signals));
  const std::vector<SweepSlot>& slots = chosen.slots();
  report.points = sweep_points(report.request, slots);
  refuse_shared_ports(report.points, slots);
  report.results.resize(report.points.size());
  if (arguments.log_level != "error") print_point_warnings(report.points);
  return Sweep(arguments, std::move(report), slots, signals).run();
}

}  // namespace spire
