#include <cmath>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/write_file.h"
#include "engine/config/words.h"
#include "engine/observe/records.h"
#include "tools/bench/report/bench_files.h"

namespace spire {
namespace {

// The fields of bench.json, listed once: `fields` calls archive(name, member) for each member, so
// that one list serves the writer and the reader. Object: the structure, const for writers.
template <typename Object, typename Structure>
concept Is = std::is_same_v<std::remove_const_t<Object>, Structure>;

void fields(auto& archive, Is<Variant> auto& variant) {
  archive("scaling", variant.scaling);
  archive("kind", variant.kind);
  archive("devices", variant.devices);
  archive("processes", variant.processes);
  archive("towers", variant.towers);
  archive("precision", variant.precision);
  archive("strategy", variant.strategy);
}

void fields(auto& archive, Is<StepTimes> auto& times) {
  for (const StepPart& part : step_parts) archive(part.name.data(), times.*part.seconds);
}

void fields(auto& archive, Is<Measurement> auto& round) {
  archive("samples_per_s", round.samples_per_s);
  archive("step_seconds", round.step_seconds);
  archive("first_step_seconds", round.first_step_seconds);
  archive("times", round.times);
  archive("parameter_hash", round.parameter_hash);
  archive("planned_memory", round.planned_memory);
  archive("peak_memory", round.peak_memory);
  archive("peak_rss", round.peak_rss);
  archive("joules", round.joules);
  archive("others_cores", round.others_cores);
}

void fields(auto& archive, Is<Ceilings> auto& ceilings) {
  archive("kind", ceilings.kind);
  archive("devices", ceilings.devices);
  archive("threads", ceilings.threads);
  archive("fp32_flops_per_s", ceilings.fp32_flops_per_s);
  archive("bf16_flops_per_s", ceilings.bf16_flops_per_s);
  archive("fp16_flops_per_s", ceilings.fp16_flops_per_s);
  archive("copy_bytes_per_s", ceilings.copy_bytes_per_s);
  archive("all_reduce_bytes_per_s", ceilings.all_reduce_bytes_per_s);
}

void fields(auto& archive, Is<Point> auto& point) {
  archive("variant", point.variant);
  archive("rounds", point.rounds);
  archive("error", point.error);
}

void fields(auto& archive, Is<Machine> auto& machine) {
  archive("host", machine.host);
  archive("system", machine.system);
  archive("cpu", machine.cpu);
  archive("cores", machine.cores);
  archive("instructions", machine.instructions);
  archive("gpus", machine.gpus);
}

void fields(auto& archive, Is<BenchReport> auto& report) {
  archive("date", report.date);
  archive("spire", report.spire);
  archive("command", report.command);
  archive("machine", report.machine);
  archive("energy", report.energy);
  archive("model", report.model);
  archive("parameters", report.parameters);
  archive("batch_size", report.batch_size);
  archive("flops_per_sample", report.flops_per_sample);
  archive("steps", report.steps);
  archive("warmup", report.warmup);
  archive("data", report.data);
  archive("config", report.config);
  archive("reduction", report.reduction);
  archive("ceilings", report.ceilings);
  archive("points", report.points);
}

using Json = nlohmann::ordered_json;

constexpr std::string_view format_name = "spire bench";
constexpr int64_t format_version = 1;
constexpr int deepest_level = 32;  // of a text; a report has 6, fields of later versions some more
constexpr uint64_t largest_whole = uint64_t{1} << 53;  // every reader of JSON keeps these exactly

// Makes a JSON value of each type that a report is made of.
struct FieldWriter {
  Json object = Json::object();

  template <typename T>
  void operator()(const char* name, const T& value) {
    object[name] = json_of(value);
  }

 private:
  static Json json_of(const std::string& text) { return text; }
  static Json json_of(int64_t number) { return number; }
  static Json json_of(double number) { return number; }
  static Json json_of(const std::optional<double>& number) {
    return number ? Json(*number) : Json(nullptr);
  }
  static Json json_of(const MemoryOfKinds& memory) { return memory; }
  template <HasWords Enum>
  static Json json_of(Enum value) {
    return word_of(value);
  }
  template <typename T>
  static Json json_of(const std::vector<T>& items) {
    Json list = Json::array();
    for (const T& item : items) list.push_back(json_of(item));
    return list;
  }
  template <typename Structure>
  requires std::is_class_v<Structure>
  static Json json_of(const Structure& structure) {
    FieldWriter writer;
    fields(writer, structure);
    return std::move(writer.object);
  }
};

// Returns a value as it stands in the text, or its type alone if that would be long.
std::string shown(const Json& json) {
  if (json.is_structured()) return json.type_name();
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() > 60 ? json.type_name() : text;
}

// Reads the fields of one JSON object, and says where a wrong one is.
class FieldReader {
 public:
  // where: file and place of the object: "bench.json: points[2]".
  FieldReader(const Json& object, std::string where, std::string_view separator)
      : object_(object), where_(std::move(where)), separator_(separator) {
    check(object.is_object(), "an object", object, where_);
  }

  template <typename T>
  void operator()(const char* name, T& value) {
    std::string place = fmt::format("{}{}{}", where_, separator_, name);
    auto found = object_.find(name);
    if constexpr (std::is_same_v<T, std::optional<double>>)  // unknown to an older version
      if (found == object_.end()) return value.reset();
    if (found == object_.end())
      fail(Category::config, "{}: the field is missing; get an intact file", place);
    read(*found, value, place);
  }

 private:
  static void check(bool holds, std::string_view expected, const Json& found,
                    const std::string& place) {
    if (holds) return;
    fail(Category::config, "{}: expected {}, found {}; get an intact file", place, expected,
         shown(found));
  }

  static void read(const Json& json, std::string& text, const std::string& place) {
    check(json.is_string(), "a text", json, place);
    text = json.get<std::string>();
  }
  static void read(const Json& json, int64_t& number, const std::string& place) {
    bool whole = json.is_number_unsigned() && json.get<uint64_t>() <= largest_whole;
    check(whole, "a whole number from 0 to 2^53", json, place);
    number = json.get<int64_t>();
  }
  static void read(const Json& json, double& number, const std::string& place) {
    check(json.is_number() && json.get<double>() >= 0, "a number of at least 0", json, place);
    number = json.get<double>();
  }
  static void read(const Json& json, std::optional<double>& number, const std::string& place) {
    number.reset();
    if (!json.is_null()) read(json, number.emplace(), place);
  }
  static void read(const Json& json, MemoryOfKinds& memory, const std::string& place) {
    check(json.is_object(), "an object", json, place);
    for (const auto& [kind, bytes] : json.items()) read(bytes, memory[kind], place + "." + kind);
  }
  template <HasWords Enum>
  static void read(const Json& json, Enum& value, const std::string& place) {
    auto word =
        json.is_string() ? find_word<Enum>(json.get_ref<const std::string&>()) : std::nullopt;
    check(word.has_value(), fmt::format("one of {}", fmt::join(all_words<Enum>, ", ")), json,
          place);
    value = *word;
  }
  template <typename T>
  static void read(const Json& json, std::vector<T>& items, const std::string& place) {
    check(json.is_array(), "a list", json, place);
    items.clear();
    for (size_t i = 0; i < json.size(); ++i)
      read(json[i], items.emplace_back(), fmt::format("{}[{}]", place, i));
  }
  template <typename Structure>
  requires std::is_class_v<Structure>
  static void read(const Json& json, Structure& structure, const std::string& place) {
    FieldReader reader(json, place, ".");
    fields(reader, structure);
  }

  const Json& object_;
  std::string where_;
  std::string_view separator_;
};

// Throws unless the text is a report of this version.
void check_format(const Json& json, std::string_view name) {
  auto format = json.find("format"), version = json.find("version");  // end() if no object
  if (format == json.end() || *format != format_name)
    fail(Category::config,
         "{}: is no report of a benchmark; name a bench.json that trainer bench wrote", name);
  if (version == json.end() || *version != format_version)
    fail(Category::config, "{}: has version {}, but this Spire reads version {}; use one that fits",
         name, version == json.end() ? "none" : shown(*version), format_version);
}

void check_variant(const Variant& variant, std::string_view name, size_t point) {
  bool holds = variant.devices > 0 && variant.processes > 0 && variant.towers > 0 &&
               variant.devices % variant.processes == 0;
  if (!holds)
    fail(Category::config,
         "{}: points[{}].variant: {} devices in {} processes with {} towers are impossible; get an "
         "intact file",
         name, point, variant.devices, variant.processes, variant.towers);
}

Json parse(std::string_view text, std::string_view name) try {
  auto check_level = [&](int level, Json::parse_event_t, const Json&) {
    if (level >= deepest_level)
      fail(Category::config, "{}: has lists or objects {} deep; get an intact file", name, level);
    return true;
  };
  return Json::parse(text, check_level);
} catch (const Json::parse_error& error) {
  fail(Category::config, "{}: byte {}: is not JSON, or is truncated; get an intact file", name,
       error.byte);
} catch (const Json::exception&) {
  fail(Category::config, "{}: has a number beyond the range of float64; get an intact file", name);
}

}  // namespace

std::string bench_json(const BenchReport& report) {
  Json json = {{"format", format_name}, {"version", format_version}};
  FieldWriter writer{.object = std::move(json)};
  fields(writer, report);
  return writer.object.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

BenchReport parse_bench_json(std::string_view text, std::string_view name) {
  Json json = parse(text, name);
  check_format(json, name);
  BenchReport report;
  FieldReader reader(json, std::string(name), ": ");
  fields(reader, report);
  for (size_t i = 0; i < report.points.size(); ++i)
    check_variant(report.points[i].variant, name, i);
  return report;
}

std::string measurement_json(const Measurement& measurement) {
  FieldWriter writer;
  fields(writer, measurement);
  return writer.object.dump();
}

Measurement parse_measurement_json(std::string_view text, std::string_view name) {
  Json json = parse(text, name);
  Measurement measurement;
  FieldReader reader(json, std::string(name), ": ");
  fields(reader, measurement);
  return measurement;
}

void write_bench_json(const std::filesystem::path& path, const BenchReport& report) {
  write_file_atomically(path, bench_json(report), Category::config);
}

BenchReport read_bench_json(const std::filesystem::path& path) {
  return parse_bench_json(read_stream(path, Category::config), path.string());
}

}  // namespace spire
