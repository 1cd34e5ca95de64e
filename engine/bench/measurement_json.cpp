#include "engine/bench/measurement_json.h"

#include "engine/observe/step_times.h"
#include "engine/process/json_fields.h"

namespace spire::inline bench {
namespace {

using nlohmann::json;

json seconds_by_part(const StepTimes& times) {
  json parts = json::object();
  for (const StepPart& part : step_parts) parts[part.name] = times.*part.seconds;
  return parts;
}

StepTimes read_parts(const json& object) {
  JsonFields fields(object, step_parts.size());
  StepTimes times;
  for (const StepPart& part : step_parts) {
    const json& seconds = fields.object(part.name);
    JsonFields::check(seconds.is_number(), "times");  // a rest may be a little below 0
    times.*part.seconds = seconds.get<double>();
  }
  return times;
}

// As a list, because kinds have an order.
json bytes_list(const BytesByKind& bytes) {
  json list = json::array();
  for (const auto& [kind, count] : bytes) list.push_back({{"kind", kind}, {"bytes", count}});
  return list;
}

BytesByKind read_bytes(const json& list) {
  BytesByKind bytes;
  for (const json& entry : list) {
    JsonFields fields(entry, 2);
    bytes.emplace_back(fields.text("kind"), fields.integer<int64_t>("bytes"));
  }
  return bytes;
}

}  // namespace

std::string to_message(const Measurement& m) {
  json message = {{"samples_per_s", m.samples_per_s},
                  {"step_seconds", m.step_seconds},
                  {"first_step_seconds", m.first_step_seconds},
                  {"times", seconds_by_part(m.times)},
                  {"parameter_hash", m.parameter_hash},
                  {"planned_memory", bytes_list(m.planned_memory)},
                  {"peak_memory", bytes_list(m.peak_memory)},
                  {"peak_rss", m.peak_rss}};
  if (m.joules) message["joules"] = *m.joules;
  return process::to_message(message);
}

Measurement measurement_from_message(std::string_view text) {
  json message = parse_message(text);
  bool counted = message.contains("joules");
  JsonFields fields(message, counted ? 9 : 8);
  Measurement m;
  m.samples_per_s = fields.seconds("samples_per_s");  // finite and not negative, too
  m.step_seconds = fields.seconds("step_seconds");
  m.first_step_seconds = fields.seconds("first_step_seconds");
  m.times = read_parts(fields.object("times"));
  m.parameter_hash = fields.text("parameter_hash");
  m.planned_memory = read_bytes(fields.list("planned_memory"));
  m.peak_memory = read_bytes(fields.list("peak_memory"));
  m.peak_rss = fields.integer<int64_t>("peak_rss");
  if (counted) m.joules = fields.seconds("joules");
  return m;
}

}  // namespace spire::inline bench
