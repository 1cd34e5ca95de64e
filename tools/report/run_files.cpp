#include "tools/report/run_files.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <sstream>
#include <sys/stat.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/base/proc_files.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/observe/evaluations.h"
#include "engine/observe/formatting.h"
#include "engine/observe/json_files.h"
#include "tools/process/descriptor.h"

namespace spire {

namespace fs = std::filesystem;

namespace {

constexpr size_t largest_sample = size_t{4} << 20;  // bytes that a page takes in

bool is_locked(const fs::path& file) {
  Descriptor opened(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  return opened >= 0 && flock_holder(opened).has_value();
}

std::string first_line_of_run_file(const fs::path& file) {
  std::string text = read_file_if_there(file, Category::config).value_or("");
  return text.substr(0, text.find_first_of("\r\n"));
}

void read_checkpoints(RunFiles& run) {
  fs::path folder = run.directory / "checkpoints";
  for (const fs::path& name : list_folder(folder, Category::config)) {
    std::error_code error;
    uintmax_t bytes = fs::file_size(folder / name, error);
    if (name.extension() == ".h5" && !error)
      run.checkpoints.emplace_back(name.string(), static_cast<int64_t>(bytes));
  }
  std::ranges::sort(run.checkpoints);
  run.best = first_line_of_run_file(folder / "best");
  run.latest = first_line_of_run_file(folder / "latest");
}

void read_sample(RunFiles& run) {
  fs::path folder = run.directory / "samples", newest;
  for (const fs::path& name : list_folder(folder, Category::config)) {
    bool shown = name.extension() == ".txt" || name.extension() == ".png";
    if (shown && name.string() > newest.string()) newest = name;
  }
  if (newest.empty()) return;
  auto bytes = read_file_if_there(folder / newest, Category::config, largest_sample);
  if (bytes) run.sample = {newest.string(), newest.extension() == ".png", std::move(*bytes)};
}

// What cannot be read becomes a note, since the rest is worth a page.
template <typename Read>
void noting(RunFiles& run, Read read) {
  try {
    read(run);
  } catch (const Error& error) {
    run.notes.emplace_back(error.what());
  }
}

void read_run_config(RunFiles& run) {
  auto text = read_file_if_there(run.directory / "config.yaml", Category::config);
  if (!text) return;
  run.config_text = std::move(*text);
  run.config = parse_config({{"config.yaml", run.config_text}}, {}).config;
}

void take_summary(RunFiles& run) {
  auto text = read_file_if_there(run.directory / "summary.json", Category::config);
  if (!text) return;
  run.summary = read_summary(*text);
  if (!run.summary) run.notes.emplace_back("summary.json is no JSON object: it is left out");
}

void note_metrics(RunFiles& run) {
  if (run.metrics.unreadable > 0)
    run.notes.push_back(fmt::format("{} of metrics.jsonl cannot be read: left out",
                                    counted(run.metrics.unreadable, "line")));
}

// Whether metrics.jsonl went on after the summary was written, as a resumed run's does: it has more
// steps, or its last line was written later. The times may be of two hosts' clocks.
bool is_older(const RunSummary& summary, const RunFiles& run) {
  constexpr std::chrono::seconds clocks_differ{60};
  if (run.metrics.steps > summary.steps) return true;
  struct stat status = {};
  if (::stat((run.directory / "summary.json").c_str(), &status) != 0) return false;
  auto written = std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec);
  return run.metrics.last_time > utc_text(written + clocks_differ);
}

// The lock of a run on another host, or in another container, is not always seen here.
void take_state(RunFiles& run) {
  bool running = is_locked(run.directory / ".spire_run");
  if (!running && run.summary && is_older(*run.summary, run)) {
    run.notes.emplace_back(
        "summary.json is older than metrics.jsonl: it is of an earlier part of the run, and left "
        "out");
    run.summary.reset();
  }
  run.state = running ? RunState::running : run.summary ? RunState::ended : RunState::unclear;
  // A resumed run has the summary of what was before.
  if (running) run.summary.reset();
}

std::string label_of(const fs::path& directory) {
  fs::path clean = fs::absolute(directory).lexically_normal();
  if (clean.filename().empty()) clean = clean.parent_path();
  return clean.filename().empty() ? clean.string() : clean.filename().string();
}

bool is_run(const fs::path& directory) {
  return std::ranges::any_of(std::array{"config.yaml", "metrics.jsonl", "summary.json"},
                             [&](const char* file) { return is_there(directory / file); });
}

// A folder of runs, such as a sweep's, is answered with their names.
[[noreturn]] void refuse_without_run(const fs::path& directory) {
  std::vector<std::string> runs;
  std::error_code error;
  for (auto at = fs::directory_iterator(directory, error); !error && at != fs::end(at);
       at.increment(error))
    if (is_run(at->path())) runs.push_back(at->path().filename().string());
  std::ranges::sort(runs);
  if (!runs.empty())
    fail(Category::config,
         "{0}: is a folder of {1}, {2}; name one of them, or all: trainer report {3}/*",
         directory.string(), counted(std::ssize(runs), "run"), quoted_list(runs),
         (directory / "").parent_path().string());
  fail(Category::config,
       "{}: there is no run here: it has no config.yaml, metrics.jsonl or summary.json; name the "
       "directory of a run (its output)",
       directory.string());
}

}  // namespace

RunFiles read_run_files(const fs::path& directory) {
  if (!is_run(directory)) refuse_without_run(directory);
  RunFiles run;
  run.directory = directory;
  run.label = label_of(directory);
  noting(run, read_run_config);
  run.metrics =
      read_run_metrics(directory / "metrics.jsonl", run.config ? run.config->best : BestConfig());
  note_metrics(run);
  noting(run, take_summary);
  noting(run, read_checkpoints);
  noting(run, read_sample);
  noting(run, [](RunFiles& r) { r.process = first_line_of_run_file(r.directory / ".spire_run"); });
  take_state(run);
  return run;
}

const char* evaluated_data(const RunFiles& run) {
  bool configured =
      run.config && (run.config->data.val.share > 0 || run.config->data.val.path != "none");
  bool held_out = run.summary && (run.summary->test || run.summary->val.held_out);
  return name_of_data(configured || held_out);
}

void tell_apart(std::vector<RunFiles>& runs) {
  for (RunFiles& run : runs) {
    auto same = std::ranges::count(runs, label_of(run.directory),
                                   [](const RunFiles& other) { return label_of(other.directory); });
    if (same > 1) run.label = run.directory.string();
  }
}

}  // namespace spire
