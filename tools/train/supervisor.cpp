#include "tools/train/supervisor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/devices.h"
#include "engine/train/placement/placement.h"
#include "engine/train/placement/rank_hardware.h"
#include "tools/config_source.h"
#include "tools/output/streams.h"
#include "tools/process/attempt.h"
#include "tools/train/restart_state.h"

namespace spire {

namespace {

using std::chrono::duration_cast;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds first_pause{1}, longest_pause{30};
constexpr int idle_patience = 60;  // seconds that a restart waits at least for idle GPUs
constexpr Seconds short_life{10};  // an attempt that fails sooner doubles the pause

// Returns the variable that shows the launcher: "OMPI_COMM_WORLD_SIZE=4".
std::string launcher_sign(const Launch& launch, const Environment& environment) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE"}) {
    if (auto value = environment(name)) return fmt::format("{}={}", name, *value);
  }
  return fmt::format("SLURM_STEP_NUM_TASKS={}", launch.size);
}

// Loop of attempts: start, wait, judge, and restart with what is left.
class Supervisor {
 public:
  Supervisor(const Arguments& arguments, const ResolvedConfig& resolved)
      : arguments_(arguments),
        config_(resolved.config),
        snapshot_(resolved),
        state_(config_.output),
        gpus_(config_, gpus_at_start()),
        ranks_(static_cast<int>(arguments.processes.value_or(0))) {}

  // A second Ctrl+C may come as the processes end: their code counts.
  ~Supervisor() { StopSignals::end_work(); }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  int run() {
    for (;;) {
      Attempt attempt({child_words(), child_variables(), ranks_, true}, signals_);
      AttemptEnd end = attempt.wait();
      if (end.interrupted_twice) return 128 + SIGINT;
      Outcome outcome = judge(end.statuses);
      // The order matters: a stop and an exhausted number of restarts end a restartable outcome,
      // too.
      if (!outcome.restartable) return outcome.code;
      if (end.stopped_by != 0) return end_stopped(outcome, end.stopped_by);
      if (restarts_ == arguments_.max_restarts.value_or(0)) return give_up(outcome);
      ++restarts_;
      std::vector<CudaDeviceInfo> lost;
      if (may_use_gpus(config_)) lost = gpus_.find_lost(signals_);
      shrink(outcome);
      log_restart(outcome, lost);
      pause(end.lived);
    }
  }

 private:
  std::vector<CudaDeviceInfo> gpus_at_start() {
    if (!may_use_gpus(config_)) return {};
    hardware_ = local_hardware();
    return hardware_->gpus;
  }

  // Returns what to do about a run that failed.
  const char* advice() const {
    return state_.begun() ? "continue with --resume auto" : "the run had not begun, start it again";
  }

  int end_stopped(const Outcome& outcome, int signal) const {
    // It came when the process was about to end.
    if (outcome.cause.signal == signal) return static_cast<int>(Category::interrupted);
    if (outcome.cause.signal == 0) return outcome.code;
    fail(Category::collective, "while the run stopped {}; {}", to_string(outcome.cause), advice());
  }

  // Returns the exit code of ranks that ended by themselves, as they have printed the reason;
  // throws for others.
  int give_up(const Outcome& outcome) const {
    std::string cause = to_string(outcome.cause);
    if (restarts_ > 0) {
      fail(Category::collective, "gave up after {}; the last: {}; {}",
           counted(restarts_, "restart"), cause, advice());
    }
    if (outcome.cause.signal == 0) return outcome.code;
    fail(Category::collective, "{}; {}, or restart automatically with --max-restarts N", cause,
         advice());
  }

  // Lowers the number of processes by those that died and those without a GPU.
  void shrink(const Outcome& outcome) {
    if (ranks_ == 0) return;
    if (config_.elastic) ranks_ = std::max(1, ranks_ - outcome.died);
    auto group = gpu_group(expand_devices(config_.devices).front());
    int left = gpus_.choice().left, each = group ? group->count.value_or(1) : 1;
    int most = gpus_.any_lost() ? std::max(1, left / each) : ranks_;
    if (ranks_ <= most) return;
    if (!config_.elastic) {
      fail(Category::collective,
           "{} GPU{} left for {}, and each needs {} of its own; elastic: true goes on with fewer; "
           "{}",
           left, left == 1 ? " is" : "s are", counted(ranks_, "process"),
           each == 1 ? std::string("one") : std::to_string(each), advice());
    }
    ranks_ = most;
  }

  void log_restart(const Outcome& outcome, const std::vector<CudaDeviceInfo>& lost) const {
    for (const CudaDeviceInfo& gpu : lost)
      print_log("{} fails and is left out from here on\n", describe(gpu));
    if (arguments_.log_level == "error") return;
    std::string how =
        resumes(options_for_restart({arguments_.resume, arguments_.overwrite}, state_))
            ? fmt::format("go{} on from the newest checkpoint", ranks_ > 1 ? "" : "es")
            : fmt::format("start{} again", ranks_ > 1 ? "" : "s");
    print_log("restart {} of {}: {}; {} {}\n", restarts_, *arguments_.max_restarts,
              to_string(outcome.cause), counted(std::max(1, ranks_), "process"), how);
  }

  // Returns the arguments of the next attempt's processes.
  std::vector<std::string> child_words() const {
    ResumeOptions given{arguments_.resume, arguments_.overwrite};
    ResumeOptions options = restarts_ > 0 ? options_for_restart(given, state_) : given;
    std::vector<std::string> words = {"train", "--config", snapshot_.path()};
    if (options.resume) words.insert(words.end(), {"--resume", *options.resume});
    if (options.overwrite) words.emplace_back("--overwrite");
    if (arguments_.quiet) words.emplace_back("--quiet");
    words.insert(words.end(), {"--log-level", arguments_.log_level});
    if (arguments_.dry_run > 0)
      words.insert(words.end(), {"--dry-run", std::to_string(arguments_.dry_run)});
    if (!arguments_.timeline.empty())
      words.insert(words.end(), {"--timeline", arguments_.timeline});
    if (!arguments_.timeline_steps.empty())
      words.insert(words.end(), {"--timeline-steps", arguments_.timeline_steps});
    const auto& of_gpus = gpus_.choice().words;
    words.insert(words.end(), of_gpus.begin(), of_gpus.end());
    // The GPUs of the attempt before seem busy for a while yet.
    auto group = gpu_group(expand_devices(config_.devices).front());
    bool chooses = restarts_ > 0 && group && group->idle;
    if (chooses && config_.timeouts.devices < idle_patience)
      words.push_back(fmt::format("timeouts.devices={}", idle_patience));
    if (!resumes(options)) fix_towers(words);
    return words;
  }

  std::vector<Variable> child_variables() const {
    std::vector<Variable> variables = gpus_.choice().variables;
    if (process_environment()(started_variable)) return variables;  // they inherit it
    auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(started_.time_since_epoch());
    variables.push_back({started_variable, std::to_string(since.count())});
    return variables;
  }

  bool resumes(const ResumeOptions& options) const {
    return options.resume && (*options.resume != "auto" || state_.has_checkpoint());
  }

  // Fixes towers and tower_threads at what the first attempt had. Without a checkpoint their
  // defaults follow from the number of processes and GPUs, and fewer of these would change the run.
  void fix_towers(std::vector<std::string>& words) const {
    int first = static_cast<int>(arguments_.processes.value_or(1));
    if (std::max(1, ranks_) == first && !gpus_.any_lost()) return;
    if (first < 1) fail(Category::config, "processes: {}; a run has at least 1", first);
    std::vector<RankHardware> ranks(static_cast<size_t>(first),
                                    hardware_ ? *hardware_ : local_hardware());
    leave_spare_gpus(config_, ranks);
    Placement placement = place_towers(config_, share_out(std::move(ranks)), 0);
    words.push_back(fmt::format("towers={}", placement.towers));
    words.push_back(fmt::format("tower_threads={}", placement.tower_threads));
  }

  // Waits before a restart, twice as long after each short attempt.
  void pause(Seconds lived) {
    pause_ = lived < short_life ? std::min(pause_ * 2, longest_pause) : first_pause;
    auto deadline = Clock::now() + duration_cast<Clock::duration>(pause_);
    if (signals_.stopped_before(deadline))
      fail(Category::interrupted, "stopped by a signal before restart {}; {}", restarts_, advice());
  }

  const Arguments& arguments_;
  const RunConfig& config_;
  BlockedSignals signals_;
  ConfigSnapshot snapshot_;
  RunDirState state_;
  std::optional<RankHardware> hardware_;  // before the first attempt, where a GPU may be lost
  GpuRoster gpus_;
  int ranks_ = 0;  // of the next attempt; 0: one process without a rank
  int64_t restarts_ = 0;
  Clock::time_point started_ = Clock::now();
  Seconds pause_ = first_pause / 2;
};

}  // namespace

bool supervises(const Arguments& arguments) {
  return arguments.processes || arguments.max_restarts;
}

void refuse_launcher(const Arguments& arguments, const Environment& environment) {
  Launch launch = read_launch(environment);
  if (launch.launcher.empty()) return;
  if (arguments.processes) {
    fail(Category::config,
         "--processes starts the ranks itself, and {} has started this one already ({}): use one "
         "of them",
         launch.launcher, launcher_sign(launch, environment));
  }
  fail(Category::config,
       "--max-restarts: {} started this rank and has to start it again: exit code 8 says when; see "
       "docs/processes.md",
       launch.launcher);
}

int supervise(const Arguments& arguments, const ResolvedConfig& resolved) {
  refuse_launcher(arguments, process_environment());
  // Children start as /proc/self/exe and read the config from /proc/self/fd.
  if (access("/proc/self/exe", X_OK) != 0) {
    fail(Category::device,
         "--processes and --max-restarts need /proc, which is not there: {}; mount it (mount -t "
         "proc proc /proc), or run without these options",
         std::strerror(errno));
  }
  if (arguments.log_level != "error") print_warnings(resolved);
  return Supervisor(arguments, resolved).run();
}

}  // namespace spire
