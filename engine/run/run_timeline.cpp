#include "engine/run/run_timeline.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/base/steady_time.h"
#include "engine/base/write_file.h"
#include "engine/process/group/process_group.h"

namespace spire {
namespace {

using Json = nlohmann::ordered_json;

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

const char* category(SpanKind kind) {
  switch (kind) {
    case SpanKind::step:
      return "step";
    case SpanKind::part:
      return "part";
    case SpanKind::op:
      return "op";
    case SpanKind::bucket:
      return "bucket";
    case SpanKind::wait:
      return "wait";
    case SpanKind::host:
      return "host";
  }
  return "";
}

// Ops carry their tower as an argument, so that those of one layer share a name.
std::string name_of(const RecordedSpan& span) {
  bool numbered = span.number >= 0 && span.kind != SpanKind::op;
  return numbered ? fmt::format("{} {}", span.text, span.number) : span.text;
}

std::string metadata(int pid, int tid, const char* kind, const std::string& name) {
  return fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}}}})", pid, tid,
                     kind, quoted(name));
}

// Microseconds with all digits of the ns: rounding two numbers apart would break the nesting.
std::string microseconds(int64_t ns) {
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

std::string event(int pid, int tid, const RecordedSpan& span, int64_t origin) {
  int64_t begin = std::max<int64_t>(span.begin - origin, 0);
  int64_t end = std::max(span.end - origin, begin);
  std::string tower = span.kind == SpanKind::op && span.number >= 0
                          ? fmt::format(R"(,"tower":{})", span.number)
                          : "";
  return fmt::format(
      R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":"{}","args":{{"step":{}{}}}}})",
      pid, tid, microseconds(begin), microseconds(end - begin), quoted(name_of(span)),
      category(span.kind), span.step, tower);
}

}  // namespace

std::vector<std::string> TraceEvents::names() const {
  std::vector<std::string> lines = {metadata(process_.rank, 0, "process_name", process_.name)};
  for (size_t tid = 0; tid < process_.threads.size(); ++tid) {
    auto number = static_cast<int>(tid);
    lines.push_back(metadata(process_.rank, number, "thread_name", process_.threads[tid].name));
    lines.push_back(fmt::format(
        R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
        process_.rank, number, number));
  }
  return lines;
}

std::string TraceEvents::next() {
  std::string piece;
  if (!std::exchange(named_, true)) piece = fmt::format("{}", fmt::join(names(), trace_between));
  for (; thread_ < process_.threads.size(); ++thread_, span_ = 0) {
    const TracedThread& thread = process_.threads[thread_];
    while (span_ < thread.spans.size()) {
      if (piece.size() >= piece_bytes_) return piece;
      if (!piece.empty()) piece += trace_between;
      piece +=
          event(process_.rank, static_cast<int>(thread_), thread.spans[span_++], process_.origin);
    }
  }
  return piece;
}

std::string trace_end(const TraceFacts& facts) {
  Json other = {{"run", facts.run},
                {"first_step", facts.first},
                {"last_step", facts.last},
                {"clock", facts.on_gpus ? "events in the GPUs' streams, to about 1 us"
                                        : "the host's steady clock"}};
  if (facts.on_gpus)
    other["cuda_graphs"] = "not replayed in these steps, which are slower than others";
  return fmt::format("\n],\n\"otherData\":{}}}\n",
                     other.dump(-1, ' ', false, Json::error_handler_t::replace));
}

namespace {

// Without a choice: late enough for the first steps' slowness to be over.
constexpr int64_t steps_before = 10, steps_in_window = 3;

// Of a process: some 150 MB of its memory, and as much of the file.
constexpr int64_t max_spans = 1'000'000;

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
    traced_loop_ = {"loop over steps", {}};
    run_.trainer.begin_trace(max_spans);
  }
  if (loop_) loop_->begin_step(step);
}

void RunTimeline::after_step(int64_t done) {
  if (loop_) take_loop(done);
  if (loop_ && done >= last_) close();
}

void RunTimeline::take_loop(int64_t step) {
  std::ranges::move(loop_->take(step), std::back_inserter(traced_loop_.spans));
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
  take_loop(run_.progress.step);  // what came behind the last step
  int64_t last = last_of_all(std::min(last_, run_.trainer.traced_through()));
  std::erase_if(traced_loop_.spans, [&](const RecordedSpan& span) { return span.step > last; });
  TracedProcess process{.rank = run_.world.rank(),
                        .name = fmt::format("rank {}", run_.world.rank()),
                        .origin = origin_,
                        .threads = run_.trainer.end_trace()};
  process.threads.insert(process.threads.begin(), std::move(traced_loop_));
  loop_.reset();
  closed_ = true;
  TraceEvents events(std::move(process));
  write(events, last);
}

// The last step of which all ranks have all spans.
int64_t RunTimeline::last_of_all(int64_t mine) const {
  if (run_.world.size() == 1) return mine;
  for (const std::string& text : run_.setup.ranks.all_gather(std::to_string(mine)))
    mine = std::min<int64_t>(mine, std::stoll(text));
  return mine;
}

// Rank 0 writes what it has and what the others send, piece by piece, which all have to do: the
// others wait until it has taken everything. A timeline that cannot be written is no reason to stop
// training.
void RunTimeline::write(TraceEvents& mine, int64_t last) {
  const std::string& path = run_.options.timeline->path;
  std::optional<AtomicWriter> file;
  auto attempt = [&](auto&& action) {
    try {
      if (lost_.empty()) action();
    } catch (const Error& error) {
      lost_ = error.what();
    }
  };
  if (run_.world.rank() == 0)
    attempt([&] {
      file.emplace(path, Category::checkpoint);
      file->write(trace_begin);
    });
  std::string_view between;
  auto take = [&](std::string_view piece) {
    attempt([&] {
      file->write(std::exchange(between, trace_between));
      file->write(piece);
    });
  };
  auto gather = [&] {
    gather_pieces(
        *run_.world.group, [&] { return mine.next(); }, take);
  };
  run_.trainer.status().wait(0, gather);
  if (run_.world.rank() != 0) return;
  bool on_gpus = run_.setup.placement.lanes[0].device.kind == DeviceKind::cuda;
  attempt([&] {
    file->write(trace_end(
        {.first = *first_, .last = last, .on_gpus = on_gpus, .run = run_.setup.config.output}));
    file->commit();
  });
  report(last);
}

void RunTimeline::report(int64_t last) {
  const std::string& path = run_.options.timeline->path;
  if (!lost_.empty()) {
    run_.observer.on_warning(lost_ + "; training continues without the timeline");
    return;
  }
  run_.observer.on_note(fmt::format("timeline of steps {} to {}: {}", *first_, last, path));
  int64_t done = std::min(last_, run_.progress.step);
  if (last < done)
    run_.observer.on_warning(fmt::format(
        "the timeline ends at step {}, not {}: a process keeps {} spans; choose fewer steps", last,
        done, max_spans));
}

}  // namespace spire
