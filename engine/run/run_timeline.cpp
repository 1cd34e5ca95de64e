#include "engine/run/run_timeline.h"

#include <algorithm>
#include <filesystem>

#include "engine/base/steady_time.h"
#include "engine/base/write_file.h"
#include "engine/process/group/process_group.h"
#include "engine/run/trace_events.h"

namespace spire::inline run {
namespace {

// Without a choice: late enough for the first steps' slowness to be over.
constexpr int64_t steps_before = 10, steps_in_window = 3;

}  // namespace

void RunTimeline::start() {
  const auto& wanted = run_.options.timeline;
  if (!wanted) return;
  int64_t done = run_.progress.step, total = run_.total_steps;
  if (wanted->first > 0) {
    if (wanted->first > total)
      fail(Category::config,
           "the timeline begins at step {}, and the run ends at step {}; choose earlier steps",
           wanted->first, total);
    first_ = std::max(wanted->first, done + 1);
    last_ = std::min(wanted->last, total);
  } else {
    last_ = std::min(done + steps_before + steps_in_window, total);
    first_ = std::max(last_ - steps_in_window, done) + 1;
  }
  if (run_.world.rank() == 0) AtomicWriter(wanted->path, Category::config);
}

// Ranks that were started one by one may have been given different windows.
void RunTimeline::compare_ranks() const {
  if (run_.world.size() == 1) return;
  std::string mine = first_ ? fmt::format("steps {} to {}", *first_, last_) : "none";
  for (const std::string& other : run_.setup.ranks.all_gather(mine))
    if (other != mine)
      throw SymmetricError(Category::config,
                           "--timeline differs among the ranks; start all of them with the same");
}

void RunTimeline::warn_at_start() {
  compare_ranks();
  if (first_ && *first_ > last_)
    run_.observer.on_warning(
        fmt::format("there will be no timeline: the run goes on behind step {}, where it was to "
                    "end",
                    last_));
}

bool RunTimeline::is_edge(int64_t done) const {
  return !is_over() && (done + 1 == *first_ || done == last_);
}

void RunTimeline::before_step(int64_t step) {
  if (is_over()) return;
  if (!loop_ && step == *first_) {
    align();
    host_ = make_stream({});
    loop_ = std::make_unique<SpanRecorder>(*host_);
    loop_->start();
    run_.trainer.begin_trace();
  }
  if (loop_) loop_->begin_step(step);
}

void RunTimeline::after_step(int64_t done) {
  if (loop_ && done >= last_) close();
}

void RunTimeline::finish() {
  if (loop_) close();
}

// The ranks leave a meeting at nearly the same time, which all call 0. The first meeting waits for
// the slowest rank, so the second one is short.
void RunTimeline::align() {
  if (run_.world.size() > 1) {
    run_.trainer.status().wait(0, [&] {
      for (int meeting = 0; meeting < 2; ++meeting) all_gather(*run_.world.group, "here");
    });
  }
  origin_ = steady_ns();
}

void RunTimeline::close() {
  TracedProcess process{.rank = run_.world.rank(),
                        .name = fmt::format("rank {}", run_.world.rank()),
                        .origin = origin_,
                        .threads = run_.trainer.end_trace()};
  TracedThread loop{"loop over steps", {}};
  for (int64_t step = *first_; step <= last_; ++step) {
    auto spans = loop_->take(step);
    loop.spans.insert(loop.spans.end(), spans.begin(), spans.end());
  }
  process.threads.insert(process.threads.begin(), std::move(loop));
  loop_.reset();
  closed_ = true;
  write(trace_events(process));
}

// A timeline that cannot be written is no reason to stop training.
void RunTimeline::write(const std::string& mine) {
  std::vector<std::string> events = {mine};
  if (run_.world.size() > 1)
    run_.trainer.status().wait(0, [&] { events = all_gather(*run_.world.group, mine); });
  if (run_.world.rank() != 0) return;
  bool on_gpus = run_.setup.placement.lanes[0].device.kind == DeviceKind::cuda;
  const std::string& path = run_.options.timeline->path;
  try {
    write_file_atomically(path,
                          trace_file(events, {.first = *first_,
                                              .last = std::min(last_, run_.progress.step),
                                              .on_gpus = on_gpus,
                                              .run = run_.setup.config.output}),
                          Category::checkpoint);
    run_.observer.on_note(fmt::format("timeline of steps {} to {}: {}", *first_,
                                      std::min(last_, run_.progress.step), path));
  } catch (const Error& error) {
    lost_ = error.what();
    run_.observer.on_warning(lost_ + "; training continues without the timeline");
  }
}

}  // namespace spire::inline run
