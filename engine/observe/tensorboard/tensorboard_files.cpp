#include "engine/observe/tensorboard/tensorboard_files.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "engine/base/fail.h"
#include "engine/base/thread.h"
#include "engine/observe/published_state.h"
#include "engine/observe/records.h"

namespace spire {
namespace {

constexpr size_t max_pending = 16 << 20;  // bytes; more wait only if the disk hangs

// For the visitors of records.h.
auto put_into(Scalars& scalars, std::string prefix = "") {
  return [&scalars, prefix = std::move(prefix)](std::string_view tag, auto number) {
    scalars.emplace_back(fmt::format("{}{}", prefix, tag), static_cast<double>(number));
  };
}

std::vector<std::string> prefixes_of_devices(const StartInfo& start) {
  std::vector<std::string> names = unique_device_names(start);
  for (size_t d = 0; d < names.size(); ++d)
    names[d] = start.processes == 1
                   ? fmt::format("device/{}/", valid_utf8(names[d]))
                   : fmt::format("device/rank{}/{}/", start.devices[d].rank, valid_utf8(names[d]));
  return names;
}

}  // namespace

TensorBoardFiles::TensorBoardFiles(std::filesystem::path folder, std::string config, Warn warn,
                                   WallClock now)
    : folder_(std::move(folder)),
      config_(std::move(config)),
      warn_(std::move(warn)),
      now_(std::move(now)),
      cores_(allowed_cores()) {}

TensorBoardFiles::~TensorBoardFiles() {
  finish();
}

void TensorBoardFiles::finish() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_ = {};  // joins it: all is written, or has failed
}

double TensorBoardFiles::now() const {
  return std::chrono::duration<double>(now_().time_since_epoch()).count();
}

void TensorBoardFiles::on_start(const StartInfo& start) {
  try {
    open(start);
  } catch (const Error& error) {
    file_.reset();
    warn_(fmt::format("{}; the run goes on without TensorBoard, metrics.jsonl has its numbers",
                      error.what()));
    return;
  }
  thread_ = start_thread({"tensorboard", cores_}, [this] { write_frames(); });
}

void TensorBoardFiles::open(const StartInfo& start) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error)
    fail(Category::config, "cannot create the folder {}: {}", folder_.string(), error.message());
  file_.emplace(folder_, now_());
  device_prefixes_ = prefixes_of_devices(start);
  int64_t first = start.resumed_step;
  std::string begin =
      first_event(now()) + session_event(now(), first + 1) +
      text_event(now(), first, "config", fmt::format("```\n{}```\n", valid_utf8(config_)));
  if (std::string reason = file_->append(begin); !reason.empty())
    fail(Category::config, "cannot write {}: {}", file_->path().string(), reason);
}

void TensorBoardFiles::on_step(const StepReport& step) {
  say_problem();
  if (!file_ || !step.record) return;
  Scalars scalars;
  visit_step(step, put_into(scalars));
  for (size_t d = 0; d < std::min(step.devices.size(), device_prefixes_.size()); ++d)
    visit_device(step.devices[d], put_into(scalars, device_prefixes_[d]));
  add(step.step, scalars);
}

void TensorBoardFiles::on_eval(const EvalReport& eval) {
  add_evaluation("val", eval);
}

void TensorBoardFiles::on_test(const EvalReport& eval) {
  add_evaluation("test", eval);
}

// data: val or test.
void TensorBoardFiles::add_evaluation(const std::string& data, const EvalReport& eval) {
  Scalars scalars;
  visit_evaluation(data, eval, put_into(scalars));
  add(eval.step, scalars);
}

void TensorBoardFiles::on_checkpoint(const CheckpointReport& checkpoint) {
  Scalars scalars;
  visit_checkpoint(checkpoint, put_into(scalars));
  add(checkpoint.step, scalars);
}

void TensorBoardFiles::on_end(const RunSummary&) {
  finish();
  say_problem();
}

void TensorBoardFiles::add(int64_t step, const Scalars& scalars) {
  if (!file_) return;
  std::string frame = scalar_event(now(), step, scalars);
  std::lock_guard lock(mutex_);
  if (pending_.size() + frame.size() > max_pending)
    problem_ = "the disk takes too long";
  else
    pending_ += frame;
  changed_.notify_one();
}

// Call it on the observer's thread, as all observers are called by one at a time.
void TensorBoardFiles::say_problem() {
  std::string problem;
  {
    std::lock_guard lock(mutex_);
    problem.swap(problem_);
  }
  if (problem.empty() || warned_) return;
  warned_ = true;
  warn_(fmt::format("cannot write {}: {}; TensorBoard lacks these points, metrics.jsonl has them",
                    file_->path().string(), problem));
}

void TensorBoardFiles::write_frames() {
  std::string frames;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || !pending_.empty(); });
    if (pending_.empty()) return;
    frames.swap(pending_);
    lock.unlock();
    std::string reason = file_->append(frames);
    frames.clear();
    lock.lock();
    if (!reason.empty()) problem_ = reason;
  }
}

}  // namespace spire
