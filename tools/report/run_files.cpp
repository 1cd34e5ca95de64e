#include "tools/report/run_files.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <sstream>
#include <sys/stat.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <spire/error.h>
#include <spire/load_config.h>

#include "engine/base/file_locks.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/observe/evaluations.h"
#include "engine/observe/formatting.h"

namespace spire {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

constexpr size_t largest_sample = size_t{4} << 20;  // bytes that a page takes in

template <typename T>
T value(const Json& json, const char* key, T otherwise) {
  auto found = json.find(key);
  if (found == json.end() || found->is_null()) return otherwise;
  try {
    return found->get<T>();
  } catch (const Json::exception&) {
    return otherwise;
  }
}

std::optional<double> finite(const Json& json, const std::string& key) {
  auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return {};
  return found->get<double>();
}

constexpr std::array task_metrics = {Metric::accuracy, Metric::perplexity, Metric::psnr,
                                     Metric::rmse, Metric::exact_match};

void read_val(const Json& val, SummaryRecord& summary) {
  if (!val.is_object()) return;
  if (std::string data = value<std::string>(val, "data", ""); !data.empty())
    summary.held_out = data == name_of_data(true);
  summary.val_loss = finite(val, "loss");
  for (Metric metric : task_metrics) {
    std::string metric_name(name(metric));
    if (val.contains(metric_name)) summary.val_metric = finite(val, metric_name);
  }
  constexpr std::string_view best = "best_";
  for (const auto& [key, number] : val.items()) {
    if (!key.starts_with(best) || !number.is_number()) continue;
    if (auto metric = find_metric(std::string_view(key).substr(best.size())))
      summary.best = MetricValue{*metric, number.get<double>()};
  }
}

void read_test(const Json& test, SummaryRecord& summary) {
  if (!test.is_object() || test.empty()) return;
  summary.test_step = value<int64_t>(test, "step", 0);
  summary.held_out = true;
  auto take = [&](Metric metric) {
    if (auto number = finite(test, std::string(name(metric))))
      summary.test = MetricValue{metric, *number};
  };
  std::ranges::for_each(task_metrics, take);
  if (summary.best) take(summary.best->metric);
}

std::optional<SummaryRecord> summary_of(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  SummaryRecord summary{.exit = value(json, "exit", 0),
                        .steps = value<int64_t>(json, "steps", 0),
                        .epochs = value(json, "epochs", 0.0),
                        .seconds = value(json, "seconds", 0.0),
                        .samples_per_s = value(json, "samples_per_s", 0.0),
                        .train_loss = finite(json, "train_loss"),
                        .val_loss = {},
                        .val_metric = {},
                        .best = {},
                        .test = {},
                        .held_out = {},
                        .stopped_by = value<std::string>(json, "stopped_by", ""),
                        .parameter_hash = value<std::string>(json, "parameter_hash", ""),
                        .ema_hash = value<std::string>(json, "ema_hash", ""),
                        .chain = value<std::string>(json, "chain", ""),
                        .checkpoint = value<std::string>(json, "checkpoint", ""),
                        .devices = value<std::vector<std::string>>(json, "devices", {}),
                        .towers = value<int64_t>(json, "towers", 0),
                        .processes = value<int64_t>(json, "processes", 1),
                        .peak_memory = {},
                        .planned_memory = {}};
  using Bytes = std::map<std::string, int64_t>;
  summary.peak_memory = value<Bytes>(json, "peak_memory_bytes", {});
  summary.planned_memory = value<Bytes>(json, "planned_memory_bytes", {});
  read_val(value(json, "val", Json::object()), summary);
  read_test(value(json, "test", Json::object()), summary);
  return summary;
}

bool is_locked(const fs::path& file) {
  int descriptor = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return false;
  bool locked = flock_holder(descriptor).has_value();
  ::close(descriptor);
  return locked;
}

std::string first_line(const fs::path& file) {
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
  run.best = first_line(folder / "best");
  run.latest = first_line(folder / "latest");
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

void read_summary(RunFiles& run) {
  auto text = read_file_if_there(run.directory / "summary.json", Category::config);
  if (!text) return;
  run.summary = summary_of(*text);
  if (!run.summary) run.notes.emplace_back("summary.json is no JSON object: it is left out");
}

void note_metrics(RunFiles& run) {
  if (run.metrics.unreadable > 0)
    run.notes.push_back(fmt::format("{} of metrics.jsonl cannot be read: left out",
                                    counted(run.metrics.unreadable, "line")));
}

// Whether metrics.jsonl went on after the summary was written, as a resumed run's does: it has more
// steps, or its last line was written later. The times may be of two hosts' clocks.
bool is_older(const SummaryRecord& summary, const RunFiles& run) {
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
  noting(run, read_summary);
  noting(run, read_checkpoints);
  noting(run, read_sample);
  noting(run, [](RunFiles& r) { r.process = first_line(r.directory / ".spire_run"); });
  take_state(run);
  return run;
}

const char* evaluated_data(const RunFiles& run) {
  bool configured =
      run.config && (run.config->data.val.share > 0 || run.config->data.val.path != "none");
  bool known = run.summary && run.summary->held_out;
  return name_of_data(known ? *run.summary->held_out : configured);
}

void tell_apart(std::vector<RunFiles>& runs) {
  for (RunFiles& run : runs) {
    auto same = std::ranges::count(runs, label_of(run.directory),
                                   [](const RunFiles& other) { return label_of(other.directory); });
    if (same > 1) run.label = run.directory.string();
  }
}

}  // namespace spire
