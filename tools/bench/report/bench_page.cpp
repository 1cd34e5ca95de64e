#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "engine/base/text.h"
#include "engine/config/words.h"
#include "engine/observe/page/page.h"
#include "engine/observe/records.h"
#include "tools/bench/report/bench_files.h"
#include "tools/bench/report/bench_table.h"

namespace spire {
namespace {

using Json = nlohmann::ordered_json;

bool has_both_kinds(const BenchReport& report) {
  return std::ranges::any_of(report.points, [&](const Point& point) {
    return point.variant.kind != report.points.front().variant.kind;
  });
}

// Tells whether one number of devices ran in two different numbers of processes above 1.
bool splits_by_processes(const BenchReport& report) {
  using Group = std::tuple<Scaling, Kind, RunConfig::Precision, RunConfig::Strategy, int64_t>;
  std::set<Group> seen;
  return std::ranges::any_of(report.points, [&](const Point& point) {
    const Variant& v = point.variant;
    return v.processes > 1 &&
           !seen.insert({v.scaling, v.kind, v.precision, v.strategy, v.devices}).second;
  });
}

std::string label_of(const Variant& variant, bool with_kind, bool with_processes) {
  std::string label = fmt::format("{}, {}", word_of(variant.precision), word_of(variant.strategy));
  if (with_kind) label = fmt::format("{}, {}", word_of(variant.kind), label);
  if (variant.processes == 1) return label;
  return label + ", " +
         (with_processes ? counted(variant.processes, "process") : "several processes");
}

void add(std::vector<BenchSeries>& all, const Point& point, const std::string& label) {
  auto found = std::ranges::find_if(all, [&](const BenchSeries& series) {
    return series.scaling == point.variant.scaling && series.label == label;
  });
  if (found == all.end()) {
    all.push_back({point.variant.scaling, label, {&point}});
  } else {
    found->points.push_back(&point);
  }
}

std::string bar_label(const Variant& variant) {
  std::string devices = counted(variant.devices, "device");
  if (variant.processes == 1) return devices;
  return fmt::format("{}, {}", devices, counted(variant.processes, "process"));
}

Json point_json(const BenchReport& report, const BenchSeries& series, const Point& point) {
  PointFigures figures = figures_of(report, point);
  PointMemory memory = memory_of(point);
  Json parts = Json::object();
  for (const StepPart& part : step_parts)
    parts[std::string(part.name)] = 1e3 * figures.times.*part.seconds;
  return {{"scaling", word_of(point.variant.scaling)},
          {"series", series.label},
          {"bar", bar_label(point.variant)},
          {"title", fmt::format("{}: {} samples/s, {}", to_text(point.variant),
                                figure_text(figures.samples_per_s),
                                range_text(figures.slowest, figures.fastest))},
          {"devices", point.variant.devices},
          {"samples_per_s", figures.samples_per_s},
          {"low", figures.slowest},
          {"high", figures.fastest},
          {"efficiency", figures.efficiency ? Json(*figures.efficiency) : Json()},
          {"step_ms", parts},
          {"memory", memory.peak},
          {"planned", memory.planned},
          {"rss", memory.rss}};
}

// Numbers stand at the right edge in columns `first` to `last`.
Json table_json(const char* caption, const TextTable& table, size_t first, size_t last) {
  return {{"caption", caption}, {"rows", table}, {"first", first}, {"last", last}};
}

// The fastest point.
Json lead_of(const BenchReport& report) {
  const Point* fastest = nullptr;
  PointFigures best;
  for (const Point& point : report.points) {
    PointFigures figures = figures_of(report, point);
    if (figures.samples_per_s <= best.samples_per_s) continue;
    fastest = &point;
    best = figures;
  }
  Json lead = Json::array();
  auto add = [&](const char* of, const std::string& text, const std::string& note) {
    lead.push_back({{"of", of}, {"text", text}, {"note", note}});
  };
  if (!fastest) {
    add("speed", "Nothing ran.", "");
    return lead;
  }
  const Variant& variant = fastest->variant;
  add("up to", figure_text(best.samples_per_s) + " samples/s",
      fmt::format("on {}, {}, {}",
                  counted(variant.devices, variant.kind == Kind::cpu ? "CPU device" : "GPU"),
                  word_of(variant.precision), word_of(variant.strategy)));
  if (best.efficiency && variant.devices > 1)
    add("efficiency", share_text(*best.efficiency), "of a device there, against one alone");
  return lead;
}

}  // namespace

std::vector<BenchSeries> series_of(const BenchReport& report) {
  bool with_kind = has_both_kinds(report), with_processes = splits_by_processes(report);
  std::vector<BenchSeries> all;
  for (const Point& point : report.points)
    if (!point.rounds.empty()) add(all, point, label_of(point.variant, with_kind, with_processes));
  for (BenchSeries& series : all)
    std::ranges::stable_sort(series.points, {}, [](const Point* point) {
      return std::pair(point->variant.devices, point->variant.processes);
    });
  std::ranges::stable_sort(all, {}, &BenchSeries::scaling);
  return all;
}

Json bench_page_json(const BenchReport& report, std::vector<ModelledPoint> modelled) {
  bool promises_bits = report.reduction == RunConfig::Reduction::invariant;
  BenchTables tables = tables_of(report);
  Json json = {
      {"model", report.model},
      {"lead", lead_of(report)},
      {"notes", tables.notes},
      {"facts", facts_of(report)},
      {"strong", promises_bits ? "the towers stay, so any number of devices gives the same bits"
                               : "the towers of the run stay"},
      {"points", Json::array()},
      {"modelled", Json::array()},
      {"tables", Json::array()},
      {"config", report.config}};
  for (const BenchSeries& series : series_of(report))
    for (const Point* point : series.points)
      json["points"].push_back(point_json(report, series, *point));
  std::ranges::stable_sort(modelled, {}, &ModelledPoint::devices);
  for (const ModelledPoint& point : modelled)
    json["modelled"].push_back({{"scaling", word_of(point.scaling)},
                                {"devices", point.devices},
                                {"samples_per_s", point.samples_per_s},
                                {"label", point.label}});
  auto add = [&](const char* caption, const TextTable& table, size_t first, size_t left_at_end) {
    if (table.size() > 1)
      json["tables"].push_back(
          table_json(caption, table, first, table[0].size() - 1 - left_at_end));
  };
  add("Speed", tables.speed, variant_columns, 1);
  add("Milliseconds per step", tables.step, variant_columns, 0);
  add("Peak memory", tables.memory, variant_columns, 0);
  add("What the machine reaches without a model", tables.ceilings, 1, 0);
  return json;
}

std::string bench_html(const BenchReport& report, const std::vector<ModelledPoint>& modelled) {
  Json data = bench_page_json(report, modelled);
  std::string summary;
  for (const Json& figure : data["lead"])
    summary += fmt::format("{} {} {}. ", figure["of"].get<std::string>(),
                           figure["text"].get<std::string>(), figure["note"].get<std::string>());
  return html_of({"bench", report.model + " on Spire",
                  summary + "bench.json and bench.csv have all figures.",
                  data.dump(-1, ' ', false, Json::error_handler_t::replace)});
}

}  // namespace spire
