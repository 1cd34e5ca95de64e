#include "engine/run/trace_events.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

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

}  // namespace spire
