#include "tools/sweep/runs.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/file.h>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/system.h"
#include "engine/base/text.h"
#include "engine/base/write_file.h"
#include "tools/config_source.h"
#include "tools/process/attempt.h"
#include "tools/train/restart_state.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* lock_name = ".spire_sweep";
constexpr std::chrono::milliseconds patience = 10s, look_again = 50ms;

// Whether the process in the lock's text runs on this host: it is no sweep that was killed.
bool lives_here(const std::string& holder) {
  std::string begin = host_name() + ", process ";
  int process = holder.starts_with(begin) ? std::atoi(holder.c_str() + begin.size()) : 0;
  return process > 0 && (kill(process, 0) == 0 || errno == EPERM);
}

}  // namespace

SweepFolder::SweepFolder(fs::path path, BlockedSignals& signals) : path_(std::move(path)) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error)
    fail(category_of(error.value(), Category::config), "{}: cannot be created: {}", path_.string(),
         error.message());
  refuse_other_files();
  lock_ = Descriptor(open_in_place(path_ / lock_name, Category::config));
  fcntl(lock_, F_SETFD, 0);  // child processes inherit it
  lock(signals);
}

// A file system without locks is no reason to refuse: the runs warn of it, too.
void SweepFolder::lock(BlockedSignals& signals) {
  auto deadline = std::chrono::steady_clock::now() + patience;
  while (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) break;
    auto now = std::chrono::steady_clock::now();
    std::string holder = read_file_if_there(path_ / lock_name, Category::config).value_or("");
    if (now >= deadline || lives_here(holder)) {
      refuse(
          fmt::format("is in use by another sweep ({}); wait until it ends, stop it, or name "
                      "another folder with --output",
                      holder.substr(0, holder.find('\n'))));
    }
    if (signals.stopped_before(now + look_again))
      fail(Category::interrupted, "stopped by a signal");
  }
  std::string holder = fmt::format("{}, process {}, since {}\n", host_name(), getpid(),
                                   utc_text(std::chrono::system_clock::now()));
  bool written = pwrite(lock_, holder.data(), holder.size(), 0) == std::ssize(holder) &&
                 ftruncate(lock_, std::ssize(holder)) == 0;
  if (!written)
    fail(category_of(errno, Category::config), "{}: cannot be written to: {}", path_.string(),
         std::strerror(errno));
}

void SweepFolder::refuse_other_files() const {
  std::error_code error;
  bool empty = fs::is_empty(path_, error);
  bool of_sweeps = !error && !empty && fs::exists(fs::symlink_status(path_ / lock_name, error));
  if (error && error != std::errc::no_such_file_or_directory)
    refuse("cannot be read: " + system_reason(error.value()));
  if (!empty && !of_sweeps)
    refuse("contains files that no sweep wrote; name another folder with --output");
}

void SweepFolder::refuse(const std::string& why) const {
  fail(Category::config, "output: {} {}", path_.string(), why);
}

std::optional<RecordedSweep> read_recorded_sweep(const fs::path& folder) {
  fs::path file = folder / "sweep.json";
  auto text = read_file_if_there(file, Category::config);
  if (!text) return {};
  return read_sweep_json(*text, file.string());
}

void SweepFolder::write(const SweepReport& report) const {
  write_file_atomically(path_ / "sweep.json", sweep_json(report), Category::config);
  write_file_atomically(path_ / "sweep.csv", sweep_csv(report), Category::config);
  write_file_atomically(path_ / "sweep.html", sweep_html(report), Category::config);
}

namespace {

using State = PointResult::State;

constexpr int stopped_code = static_cast<int>(Category::interrupted);

// What a run prints is appended to what it printed before.
Descriptor open_log(const std::filesystem::path& path) {
  Descriptor log(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (log < 0)
    fail(category_of(errno, Category::config), "{}: cannot be written to: {}", path.string(),
         system_reason(errno));
  return log;
}

// Returns why a run failed: what it printed, or what killed it.
std::string failure_text(const ExitStatus& status, const std::filesystem::path& log) {
  if (status.signal != 0) return to_string(status);
  std::string text;
  try {
    text = reported_error(read_file_if_there(log, Category::config).value_or(""));
  } catch (const Error&) {  // a log that is too long, or was replaced by something else
  }
  return text.empty() ? to_string(status) : text;
}

}  // namespace

SweepRuns::SweepRuns(SweepReport& report, const std::vector<SweepSlot>& slots,
                     const SweepFolder& folder, BlockedSignals& signals, Options options)
    : report_(report),
      slots_(slots),
      folder_(folder),
      signals_(signals),
      options_(std::move(options)) {
  for (size_t i = 0; i < report_.points.size(); ++i) {
    PointResult result = read_point_result(folder_.run(report_.points[i]));
    if (result.ended()) report_.results[i] = std::move(result);
  }
}

SweepRuns::End SweepRuns::run() {
  for (;;) {
    if (end_ == End::all) start_waiting();
    if (jobs_.empty()) return end_;
    int number = *signals_.wait({});
    if (number == SIGCHLD) {
      collect_ended();
    } else {
      pass_on(number);
    }
  }
}

void SweepRuns::start_waiting() {
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    if (std::ranges::count(jobs_, slot, &Job::slot) > 0) continue;
    while (next_ < report_.points.size() && report_.results[next_].ended()) ++next_;
    if (next_ == report_.points.size()) return;
    start(next_++, slot);
  }
}

// A run that cannot be started is one that failed, so that the others go on.
void SweepRuns::start(size_t index, size_t slot_index) {
  const SweepPoint& point = report_.points[index];
  const SweepSlot& slot = slots_[slot_index];
  try {
    std::string output = folder_.run(point).string();
    ConfigSnapshot config(sweep_config(slot, point, output));
    Descriptor log = open_log(folder_.log(point));
    ChildSetup setup;
    setup.words = {"train", "--config", config.path(), "--resume", "auto"};
    setup.signal_mask = signals_.mask_until_handled();
    setup.streams = {log, log};
    setup.cores = slot.cores;
    if (options_.max_restarts)
      setup.words.push_back(fmt::format("--max-restarts={}", *options_.max_restarts));
    setup.variables = SweepSlots::variables(slot);
    bool goes_on = RunDirState(output).has_checkpoint();
    jobs_.push_back({index, slot_index, ChildProcess(std::move(setup))});
    report_.results[index].state = State::interrupted;
    options_.log(
        fmt::format("{} {} on {}", point.name, goes_on ? "goes on" : "starts", to_string(slot)));
  } catch (const Error& error) {
    report_.results[index] = {
        .state = State::failed, .exit = error.exit_code(), .message = error.what()};
    options_.log(fmt::format("{} cannot start: {}", point.name, error.what()));
  }
}

void SweepRuns::collect_ended() {
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    auto status = job->process.try_wait();
    size_t point = job->point;
    job = status ? jobs_.erase(job) : std::next(job);
    if (status) take_result(point, *status);
  }
}

// summary.json decides: a run may be killed after it has written that.
void SweepRuns::take_result(size_t index, const ExitStatus& status) {
  const SweepPoint& point = report_.points[index];
  PointResult& result = report_.results[index];
  result = read_point_result(folder_.run(point));
  if (!result.ended()) {
    result.exit = status.signal != 0 ? 128 + status.signal : status.code;
    bool stopped = status.code == stopped_code || end_ != End::all;
    result.state = stopped ? State::interrupted : State::failed;
    result.message = stopped ? "" : failure_text(status, folder_.log(point));
  }
  options_.log(fmt::format("{} {}; {}", point.name, outcome_text(result), done_text()));
  options_.on_result();
}

std::string SweepRuns::done_text() const {
  auto ended = std::ranges::count_if(report_.results, &PointResult::ended);
  return fmt::format("{} of {} done", ended, counted(std::ssize(report_.results), "point"));
}

void SweepRuns::pass_on(int signal) {
  if (signal == SIGTSTP) {
    // All of them stop while this process is stopped; with restarts each stops its own process.
    signal_all(options_.max_restarts ? SIGTSTP : SIGSTOP);
    suspend_self();
    return signal_all(SIGCONT);
  }
  if (signal == SIGINT && ++interrupts_ > 1) {
    end_ = End::killed;
    return signal_all(SIGKILL);
  }
  if (end_ == End::all)
    options_.log(fmt::format(
        "stopping: {} a checkpoint first; press Ctrl+C again to end at once",
        jobs_.size() == 1 ? "one run saves" : fmt::format("{} runs save", jobs_.size())));
  end_ = End::stopped;
  signal_all(signal);
}

// Each run has a process group of its own, so that a signal of the terminal reaches this process
// alone.
void SweepRuns::signal_all(int signal) const {
  for (const Job& job : jobs_) kill(-job.process.pid(), signal);
}

}  // namespace spire
