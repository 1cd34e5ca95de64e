#include <algorithm>
#include <chrono>
#include <map>
#include <sys/ioctl.h>
#include <vector>

#include <unistd.h>

#include <spire/error.h>
#include <spire/observer.h>

#include "engine/device/nvml/gpu_monitor.h"
#include "tools/devices/devices.h"
#include "tools/output/streams.h"
#include "tools/process/signals.h"

namespace spire {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Names of users; looking one up may ask a server, so each is asked for once.
class UserNames {
 public:
  std::string operator()(uint32_t id) {
    auto [entry, added] = names_.try_emplace(id);
    if (added) entry->second = user_name(id);
    return entry->second;
  }

 private:
  std::map<uint32_t, std::string> names_;
};

int terminal_rows() {
  winsize size{};
  bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return known ? size.ws_row : 24;
}

void flush() {
  if (std::string lost = flush_results(); !lost.empty()) fail(Category::device, "{}", lost);
}

class Watch {
 public:
  explicit Watch(const WatchArguments& arguments)
      : every_(*arguments.seconds), count_(arguments.count) {}

  void run() {
    // Use is a difference: the first sample covers a moment.
    if (signals_.stopped_before(Clock::now() + after(std::min(0.2, every_)))) return;
    auto next = Clock::now();
    for (int64_t n = 1;; ++n) {
      show(sample());
      if (n == count_) return;
      next = std::max(next + after(every_), Clock::now());
      if (signals_.stopped_before(next)) return;
    }
  }

 private:
  static Clock::duration after(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  }

  WatchSample sample() {
    CoreTimes now = read_core_times();
    WatchSample sample{std::chrono::system_clock::now(), read_gpus(monitor_),
                       use_since(before_, now)};
    before_ = std::move(now);
    return sample;
  }

  void show(const WatchSample& sample) {
    auto user = [this](uint32_t id) { return users_(id); };
    if (terminal_.interactive) {
      int width = terminal_.width() - 1;
      result_text(table_.next(watch_table(sample, width, user), terminal_rows()));
    } else {
      for (const std::string& line : watch_lines(sample, user)) result_text(line + "\n");
    }
    flush();
  }

  double every_;   // seconds
  int64_t count_;  // number of samples; 0: no end
  BlockedSignals signals_;
  GpuMonitor monitor_;
  Terminal terminal_ = terminal_of(STDOUT_FILENO);
  RedrawnTable table_;
  UserNames users_;
  CoreTimes before_ = read_core_times();
};

}  // namespace

int watch_devices(const WatchArguments& arguments) {
  Watch(arguments).run();
  return 0;
}

}  // namespace spire
