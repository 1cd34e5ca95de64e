#include "engine/run/trace_events.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace spire::inline run {
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

std::string trace_events(const TracedProcess& process) {
  std::vector<std::string> lines = {metadata(process.rank, 0, "process_name", process.name)};
  for (size_t tid = 0; tid < process.threads.size(); ++tid) {
    const TracedThread& thread = process.threads[tid];
    auto number = static_cast<int>(tid);
    lines.push_back(metadata(process.rank, number, "thread_name", thread.name));
    lines.push_back(fmt::format(
        R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
        process.rank, number, number));
    for (const RecordedSpan& span : thread.spans)
      lines.push_back(event(process.rank, number, span, process.origin));
  }
  return fmt::format("{}", fmt::join(lines, ",\n"));
}

std::string trace_file(std::span<const std::string> events, const TraceFacts& facts) {
  Json other = {{"run", facts.run},
                {"first_step", facts.first},
                {"last_step", facts.last},
                {"clock", facts.on_gpus ? "events in the GPUs' streams, to about 1 us"
                                        : "the host's steady clock"}};
  if (facts.on_gpus)
    other["cuda_graphs"] = "not replayed in these steps, which are slower than others";
  return fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{},\n\"traceEvents\":[\n{}\n]}}\n",
                     other.dump(-1, ' ', false, Json::error_handler_t::replace),
                     fmt::join(events, ",\n"));
}

}  // namespace spire::inline run
