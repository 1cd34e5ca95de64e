#include "tools/supervisor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <unistd.h>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/device/device.h"
#include "engine/device/topology.h"
#include "engine/process/socket.h"
#include "engine/train/placement.h"
#include "tools/attempt.h"
#include "tools/config_snapshot.h"
#include "tools/config_source.h"
#include "tools/gpu_roster.h"
#include "tools/run_dir_state.h"
#include "tools/streams.h"

namespace spire::tool {

namespace {

using std::chrono::duration_cast;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// For the ranks to hear of a failure, agree on its cause and end: the watch gives them 5 s.
constexpr double kGraceSeconds = 12;
constexpr Seconds kFirstPause{1}, kLongestPause{30};
constexpr Seconds kShortLife{10};  // a generation that fails sooner doubles the pause

// "OMPI_COMM_WORLD_SIZE=4": by what we know that a launcher was here.
std::string launcher_sign(const Launch& launch, const Environment& environment) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE"}) {
    if (auto value = environment(name)) return fmt::format("{}={}", name, *value);
  }
  return fmt::format("SLURM_STEP_NUM_TASKS={}", launch.size);
}

class Supervisor {
 public:
  Supervisor(const Arguments& arguments, const ResolvedConfig& resolved)
      : arguments_(arguments),
        config_(resolved.config),
        pinned_(resolved),
        traces_(config_.output),
        place_(may_use_gpus(config_) ? own_place() : RankPlace()),
        gpus_(config_, place_.gpus),
        ranks_(static_cast<int>(arguments.processes.value_or(0))) {}

  int run() {
    for (;;) {
      Attempt generation(words(), gpus_.choice().variables, ranks_, signals_);
      AttemptEnd end = generation.wait(kGraceSeconds);
      if (end.at_once) return 128 + SIGINT;
      Outcome outcome = judge(end.ends);
      if (!outcome.restartable) return outcome.code;
      if (end.stopped_by != 0) return end_stopped(outcome, end.stopped_by);
      if (restarts_ == arguments_.max_restarts.value_or(0)) return give_up(outcome);
      ++restarts_;
      std::vector<CudaDeviceInfo> lost;
      if (may_use_gpus(config_)) lost = gpus_.find_lost(signals_);
      shrink(outcome);
      tell(outcome, lost);
      pause(end.lived);
    }
  }

 private:
  // What a person does about a run that did not end well.
  const char* advice() const {
    return traces_.begun() ? "continue with --resume auto"
                           : "the run had not begun, start it again";
  }

  int end_stopped(const Outcome& outcome, int signal) const {
    // The signal met a process that had nothing to save yet.
    if (outcome.cause.signal == signal) return 128 + signal;
    if (outcome.cause.signal == 0) return outcome.code;
    fail(Category::collective, "while the run stopped {}; {}", to_string(outcome.cause), advice());
  }

  // Ranks that ended by themselves have said why.
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

  // Processes that have died, and those for which there is no GPU any more.
  void shrink(const Outcome& outcome) {
    if (ranks_ == 0) return;
    if (config_.elastic) ranks_ = std::max(1, ranks_ - outcome.died);
    int most = gpus_.any_lost() ? gpus_.choice().left : ranks_;
    if (ranks_ <= most) return;
    if (!config_.elastic) {
      fail(Category::collective,
           "{} GPU{} left for {}, and each needs one of its own; elastic: true goes on with fewer; "
           "{}",
           most, most == 1 ? " is" : "s are", counted(ranks_, "process"), advice());
    }
    ranks_ = most;
  }

  void tell(const Outcome& outcome, const std::vector<CudaDeviceInfo>& lost) const {
    for (const CudaDeviceInfo& gpu : lost)
      print_log("{} fails and is left out from here on\n", describe(gpu));
    if (arguments_.log_level == "error") return;
    std::string how =
        resumes(take_up_again({arguments_.resume, arguments_.overwrite}, traces_))
            ? fmt::format("go{} on from the newest checkpoint", ranks_ > 1 ? "" : "es")
            : fmt::format("start{} again", ranks_ > 1 ? "" : "s");
    print_log("restart {} of {}: {}; {} {}\n", restarts_, *arguments_.max_restarts,
              to_string(outcome.cause), counted(std::max(1, ranks_), "process"), how);
  }

  std::vector<std::string> words() const {
    TakeUp given{arguments_.resume, arguments_.overwrite};
    TakeUp take_up = restarts_ > 0 ? take_up_again(given, traces_) : given;
    std::vector<std::string> words = {"train", "--config", pinned_.path()};
    if (take_up.resume) words.insert(words.end(), {"--resume", *take_up.resume});
    if (take_up.overwrite) words.emplace_back("--overwrite");
    if (arguments_.quiet) words.emplace_back("--quiet");
    words.insert(words.end(), {"--log-level", arguments_.log_level});
    if (arguments_.dry_run > 0)
      words.insert(words.end(), {"--dry-run", std::to_string(arguments_.dry_run)});
    const auto& of_gpus = gpus_.choice().words;
    words.insert(words.end(), of_gpus.begin(), of_gpus.end());
    if (!resumes(take_up)) pin_meaning(words);
    return words;
  }

  bool resumes(const TakeUp& take_up) const {
    return take_up.resume && (*take_up.resume != "auto" || traces_.has_checkpoint());
  }

  // Before there is a checkpoint that keeps them, towers and their threads by default follow from
  // the number of processes and GPUs: fewer of these must not make it another run.
  void pin_meaning(std::vector<std::string>& words) const {
    int first = static_cast<int>(arguments_.processes.value_or(1));
    if (std::max(1, ranks_) == first && !gpus_.any_lost()) return;
    RankPlace place = may_use_gpus(config_) ? place_ : own_place();
    std::vector<RankPlace> places(static_cast<size_t>(first), place);
    Placement placement = place_towers(config_, share_out(places), 0);
    words.push_back(fmt::format("towers={}", placement.towers));
    words.push_back(fmt::format("tower_threads={}", placement.tower_threads));
  }

  // A run that fails at once, again and again, is not started again at once.
  void pause(Seconds lived) {
    pause_ = lived < kShortLife ? std::min(pause_ * 2, kLongestPause) : kFirstPause;
    auto deadline = Clock::now() + duration_cast<Clock::duration>(pause_);
    while (auto number = signals_.wait(deadline)) {
      if (*number == SIGTSTP) suspend_self();
      if (*number == SIGTSTP || *number == SIGCHLD) continue;
      fail(Category::interrupted, "stopped by a signal before restart {}; {}", restarts_, advice());
    }
  }

  const Arguments& arguments_;
  const RunConfig& config_;
  BlockedSignals signals_;
  ConfigSnapshot pinned_;
  RunDirState traces_;
  RankPlace place_;  // as it was before the first start, where a GPU may be lost
  GpuRoster gpus_;
  int ranks_ = 0;  // of the next generation; 0: one process without a rank
  int64_t restarts_ = 0;
  Seconds pause_ = kFirstPause / 2;
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
  // The program is started from there, and its copy of the config read.
  if (access("/proc/self/exe", X_OK) != 0) {
    fail(Category::device,
         "--processes and --max-restarts need /proc, which is not there: {}; mount it (mount -t "
         "proc proc /proc), or run without these options",
         std::strerror(errno));
  }
  if (arguments.log_level != "error") print_warnings(resolved);
  return Supervisor(arguments, resolved).run();
}

}  // namespace spire::tool
