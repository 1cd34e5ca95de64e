#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <sys/ioctl.h>
#include <vector>

#include <fmt/ranges.h>
#include <unistd.h>

#include <spire/observer.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/device/nvml/gpu_monitor.h"
#include "tools/devices/devices.h"
#include "tools/output/streams.h"
#include "tools/process/signals.h"

namespace spire {
namespace {

constexpr const char* unknown = "-";

template <typename Value>
std::string number_or(const std::optional<Value>& value, fmt::format_string<Value> format) {
  return value ? fmt::format(format, Value(*value)) : unknown;
}

std::string of_most(const std::string& value, const std::string& most) {
  return most == unknown ? value : value + "/" + most;
}

std::string gibibytes(uint64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / (1 << 30));
}

std::string memory_cell(const GpuState& state) {
  if (!state.memory) return unknown;
  return fmt::format("{}/{}", gibibytes(state.memory->used), gibibytes(state.memory->total));
}

std::string throttle_cell(const GpuState& state) {
  if (!state.throttle_reasons) return unknown;
  std::vector<std::string_view> words;
  for (ThrottleReason reason : *state.throttle_reasons) words.push_back(to_string(reason));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string condition_cell(const GpuHealth& health) {
  std::string xid = health.state.last_xid ? fmt::format(", XID {}", *health.state.last_xid) : "";
  switch (health.state.condition) {
    case GpuCondition::works:
      return (health.gpu.mig == true ? "MIG" : "works") + xid;
    case GpuCondition::failing:
      return "failing" + xid;
    case GpuCondition::lost:
      break;
  }
  return "lost" + xid;
}

std::string user_of(const GpuProcess& process, const UserName& user) {
  return process.user_id ? printable(user(*process.user_id)) : unknown;
}

std::string program_of(const GpuProcess& process) {
  return process.name.empty() ? unknown : printable(process.name);
}

std::string bytes_of(const GpuProcess& process) {
  return process.bytes ? bytes_text(*process.bytes) : unknown;
}

// importance: columns with the lowest are left out first.
struct WatchColumn {
  const char* title;
  int importance;
  std::string (*cell)(const GpuHealth&);
};

const WatchColumn columns[] = {
    {"GPU", 9, [](const GpuHealth& h) { return std::to_string(h.gpu.number); }},
    {"name", 3, [](const GpuHealth& h) { return h.gpu.name.empty() ? unknown : h.gpu.name; }},
    {"use", 8, [](const GpuHealth& h) { return number_or(h.state.compute_percent, "{}%"); }},
    {"GiB", 7, [](const GpuHealth& h) { return memory_cell(h.state); }},
    {"temp", 5, [](const GpuHealth& h) { return number_or(h.state.celsius, "{}C"); }},
    {"W", 4,
     [](const GpuHealth& h) {
       return of_most(number_or(h.state.watts, "{:.0f}"), number_or(h.state.limit_watts, "{:.0f}"));
     }},
    {"MHz", 1,
     [](const GpuHealth& h) {
       return of_most(number_or(h.state.sm_mhz, "{}"), number_or(h.state.max_sm_mhz, "{}"));
     }},
    {"slowed by", 2, [](const GpuHealth& h) { return throttle_cell(h.state); }},
    {"state", 6, condition_cell},
};

bool begins_character(char byte) {  // of UTF-8
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

int width_of(const std::vector<std::string>& lines) {
  ptrdiff_t width = 0;
  for (const std::string& line : lines)
    width = std::max(width, std::ranges::count_if(line, begins_character));
  return static_cast<int>(width);
}

// Keeps the first `width` characters, none of them in part.
void cut(std::string& line, int width) {
  int characters = 0;
  auto end = std::ranges::find_if(
      line, [&](char byte) { return begins_character(byte) && ++characters > width; });
  line.erase(end, line.end());
}

// As many columns as fit; the most important one always stays.
std::vector<std::string> gpu_rows(const std::vector<GpuHealth>& gpus, int width) {
  std::vector<const WatchColumn*> shown;
  for (const WatchColumn& column : columns) shown.push_back(&column);
  for (;;) {
    TextTable table(1 + gpus.size());
    for (const WatchColumn* column : shown) {
      table[0].push_back(column->title);
      for (size_t i = 0; i < gpus.size(); ++i) table[1 + i].push_back(column->cell(gpus[i]));
    }
    std::vector<std::string> lines = aligned(table);
    if (width_of(lines) <= width || shown.size() == 1) return lines;
    shown.erase(std::ranges::min_element(shown, {}, &WatchColumn::importance));
  }
}

std::vector<std::string> process_rows(const std::vector<GpuHealth>& gpus, const UserName& user) {
  TextTable table = {{"GPU", "pid", "user", "memory", "program"}};
  for (const GpuHealth& health : gpus)
    for (const GpuProcess& process : health.processes.value_or(std::vector<GpuProcess>{}))
      table.push_back({std::to_string(health.gpu.number), std::to_string(process.pid),
                       user_of(process, user), bytes_of(process), program_of(process)});
  return table.size() > 1 ? aligned(table) : std::vector<std::string>{"no process uses a GPU"};
}

std::string host_text(const HostUse& host) {
  double sum = 0;
  for (const auto& [number, busy] : host.cores) sum += busy;
  auto count = std::ssize(host.cores);
  return fmt::format("{} {:.0f}% busy, memory {}/{} GiB", counted(count, "core"),
                     100 * sum / static_cast<double>(std::max<ptrdiff_t>(1, count)),
                     gibibytes(host.memory_used), gibibytes(host.memory_total));
}

// "0: 12%  1: 99%  ...", as many as fit into a line.
std::vector<std::string> core_rows(const HostUse& host, int width) {
  constexpr int cell_width = 11;
  auto per_line = static_cast<size_t>(std::max(1, width / cell_width));
  std::vector<std::string> lines;
  size_t shown = 0;
  for (const auto& [number, busy] : host.cores) {
    if (shown++ % per_line == 0) lines.emplace_back();
    lines.back() +=
        fmt::format("{:<{}}", fmt::format("{}: {:.0f}%", number, 100 * busy), cell_width);
  }
  return lines;
}

}  // namespace

std::vector<std::string> watch_table(const WatchSample& sample, int width, const UserName& user) {
  std::vector<std::string> lines = {
      fmt::format("{}  {}", utc_text(sample.time), host_text(sample.host)), ""};
  auto add = [&](std::vector<std::string> more) {
    std::move(more.begin(), more.end(), std::back_inserter(lines));
  };
  const GpusOfHost& host = sample.gpus;
  if (host.why_none.empty()) {
    add(gpu_rows(host.gpus, width));
    lines.emplace_back();
    add(process_rows(host.gpus, user));
  } else {
    add({"no GPU: " + host.why_none, ""});
    add(core_rows(sample.host, width));
  }
  for (std::string& line : lines) {
    cut(line, std::max(1, width));
    line.resize(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

std::vector<std::string> watch_lines(const WatchSample& sample, const UserName& user) {
  std::string time = utc_text(sample.time);
  std::vector<std::string> lines;
  for (const GpuHealth& health : sample.gpus.gpus) {
    std::string line = fmt::format("{} GPU {}", time, health.gpu.number);
    for (const WatchColumn& column : columns)
      if (column.title != std::string("GPU"))
        line += fmt::format("; {} {}", column.title, column.cell(health));
    for (const GpuProcess& process : health.processes.value_or(std::vector<GpuProcess>{}))
      line += fmt::format("; used by {} {} {} {}", process.pid, user_of(process, user),
                          bytes_of(process), program_of(process));
    lines.push_back(std::move(line));
  }
  lines.push_back(fmt::format("{} {}", time, host_text(sample.host)));
  return lines;
}

std::string RedrawnTable::next(std::vector<std::string> lines, int rows) {
  // The cursor stays in the line below the table, which would scroll a table of all rows away.
  auto most = static_cast<size_t>(std::max(2, rows - 1));
  if (lines.size() > most) {
    size_t hidden = lines.size() - most + 1;
    lines.resize(most - 1);
    lines.push_back(fmt::format("({} more)", counted(static_cast<int64_t>(hidden), "line")));
  }
  std::string text = drawn_ > 0 ? fmt::format("\x1b[{}A", drawn_) : "";
  for (const std::string& line : lines) text += line + "\x1b[K\n";
  drawn_ = lines.size();
  return text + "\x1b[J";
}

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
