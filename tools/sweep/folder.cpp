#include "tools/sweep/folder.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/file.h>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <spire/error.h>

#include "engine/base/read_file.h"
#include "engine/base/system.h"
#include "engine/base/text.h"
#include "engine/base/write_file.h"

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

}  // namespace spire
