#include <fcntl.h>
#include <spire/base/atomic_file.h>
#include <spire/base/message_words.h>
#include <spire/observe/metrics_file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace spire {
namespace {

using Json = nlohmann::ordered_json;

std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Not-finite numbers become null: JSON has no others, and null keeps a column numeric.
std::string line_of(const Json& record) {
  return record.dump() + "\n";
}

bool belongs(std::string_view line, int64_t last_step) {
  Json record = Json::parse(line, nullptr, false);
  if (!record.is_object()) return false;
  auto step = record.find("step");
  return step != record.end() && step->is_number_integer() && step->get<int64_t>() <= last_step;
}

}  // namespace

std::string metrics_through(std::string_view text, int64_t step) {
  std::string kept;
  while (true) {
    size_t end = text.find('\n');
    if (end == text.npos) return kept;
    std::string_view line = text.substr(0, end);
    if (belongs(line, step)) kept.append(line).push_back('\n');
    text.remove_prefix(end + 1);
  }
}

MetricsFile::MetricsFile(std::filesystem::path path, Warn warn, WallClock now)
    : path_(std::move(path)), warn_(std::move(warn)), now_(std::move(now)) {}

MetricsFile::~MetricsFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void MetricsFile::on_start(const StartInfo& start) {
  std::string kept;
  if (!start.resumed_from.empty()) kept = metrics_through(read_all(path_), start.resumed_step);
  try {
    open(kept);
  } catch (const Error& error) {
    warn_(fmt::format("metrics will not be recorded: {}", error.what()));
  }
}

void MetricsFile::open(std::string_view kept) {
  write_file_atomically(path_, kept, Category::unexpected);
  bytes_ = static_cast<int64_t>(kept.size());
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0)
    fail(Category::unexpected, "cannot open {}: {}", path_.string(), std::strerror(errno));
}

void MetricsFile::append(std::string line) {
  if (descriptor_ < 0) return;
  ssize_t written = ::write(descriptor_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) {
    failed(written < 0 ? std::strerror(errno) : "the disk is full");
    return;
  }
  bytes_ += written;
  int64_t missing = std::exchange(missing_, 0);
  if (missing > 0)
    warn_(
        fmt::format("{} is written again; it lacks {}", path_.string(), counted(missing, "line")));
}

void MetricsFile::failed(std::string_view what) {
  bool whole = ::ftruncate(descriptor_, bytes_) == 0;
  if (missing_++ == 0)
    warn_(fmt::format("cannot write {}: {}{}; training continues", path_.string(), what,
                      whole ? "" : " (its last line is torn)"));
}

void MetricsFile::on_step(const StepReport& step) {
  if (!step.record) return;
  Json record = {{"time", utc_text(now_())},
                 {"step", step.step},
                 {"epoch", step.epoch},
                 {"samples_seen", step.samples_seen},
                 {"train/loss", step.loss},
                 {fmt::format("train/{}", name(step.metric.metric)), step.metric.value},
                 {"train/lr", step.lr},
                 {"train/grad_norm", step.grad_norm},
                 {"perf/samples_per_s", step.samples_per_s},
                 {"perf/step_ms", step.step_ms},
                 {"time/data_wait_ms", step.data_wait * step.step_ms},
                 {"time/comm_wait_ms", step.comm_wait * step.step_ms}};
  if (step.loss_scale > 0) {
    record["train/loss_scale"] = step.loss_scale;
    record["train/skipped_steps"] = step.skipped_steps;
  }
  append(line_of(record));
}

void MetricsFile::on_eval(const EvalReport& eval) {
  append(line_of({{"time", utc_text(now_())},
                  {"step", eval.step},
                  {"epoch", eval.epoch},
                  {"val/loss", eval.loss},
                  {fmt::format("val/{}", name(eval.metric.metric)), eval.metric.value},
                  {"val/samples", eval.samples},
                  {"time/eval_s", eval.seconds}}));
}

void MetricsFile::on_checkpoint(const CheckpointReport& checkpoint) {
  append(line_of({{"time", utc_text(now_())},
                  {"step", checkpoint.step},
                  {"checkpoint/bytes", checkpoint.bytes},
                  {"checkpoint/snapshot_ms", checkpoint.snapshot_ms},
                  {"checkpoint/write_ms", checkpoint.write_ms}}));
}

}  // namespace spire
