#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/config/grid.h"
#include "engine/config/schema.h"
#include "engine/observe/evaluations.h"
#include "engine/observe/formatting.h"
#include "engine/observe/page/page.h"
#include "tools/sweep/results.h"

namespace spire {

namespace {

using Json = nlohmann::ordered_json;
using State = PointResult::State;

constexpr std::string_view format_name = "spire sweep";
constexpr int format_version = 1;

// The last words of the keys, or the whole keys where two of them have the same last word.
std::vector<std::string> headings(const std::vector<GridAxis>& axes) {
  std::vector<std::string> names;
  for (const GridAxis& axis : axes) {
    auto leaf = leaf_of(axis.key);
    auto same = std::count_if(axes.begin(), axes.end(),
                              [&](const GridAxis& other) { return leaf_of(other.key) == leaf; });
    names.emplace_back(same > 1 ? axis.key : leaf);
  }
  return names;
}

// A figure of a run, and what it is of: "validation r2".
struct Figure {
  std::string of, text;
};
std::optional<Figure> best_figure(const PointResult& result) {
  if (!result.last) return {};
  return Figure{fmt::format("{} {}", name_of_data(result.held_out), to_string(result.best_by)),
                metric_text({result.best_by, result.best})};
}
std::optional<Figure> last_figure(const PointResult& result) {
  if (!result.last) return {};
  return Figure{std::string(to_string(result.last->metric)), metric_text(*result.last)};
}
std::optional<Figure> test_figure(const PointResult& result) {
  if (!result.test) return {};
  return Figure{fmt::format("test {}", to_string(result.test->metric)), metric_text(*result.test)};
}

// A column of figures: what they are of is in its heading where all runs agree, else in each cell.
struct FigureColumn {
  std::string heading;
  std::optional<Figure> (*figure_of)(const PointResult&);
  bool agree = true;

  std::string cell(const PointResult& result) const {
    auto figure = figure_of(result);
    if (!figure) return "-";
    return agree ? figure->text : figure->of + " " + figure->text;
  }
};

// The columns but those of which no run has a figure.
std::vector<FigureColumn> figures_of(const std::vector<PointResult>& results) {
  std::vector<FigureColumn> columns;
  for (FigureColumn column : {FigureColumn{"", test_figure}, FigureColumn{"best", best_figure},
                              FigureColumn{"last", last_figure}}) {
    std::set<std::string> names;
    for (const PointResult& result : results)
      if (auto figure = column.figure_of(result)) names.insert(figure->of);
    if (names.empty()) continue;
    column.agree = names.size() == 1;
    if (column.agree) column.heading += (column.heading.empty() ? "" : " ") + *names.begin();
    if (column.heading.empty()) column.heading = "test";
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<std::string> measured_cells(const PointResult& result) {
  if (result.steps == 0) return {"-", "-", "-", "-"};
  return {loss_text(result.last ? result.loss : result.train_loss),
          count_text(std::llround(result.samples_per_s)), duration_text(result.seconds),
          result.hash};
}

Json number_json(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json settings_json(const SweepRequest& request, const SweepPoint& point) {
  Json settings = Json::object();
  for (size_t a = 0; a < request.axes.size(); ++a) settings[request.axes[a].key] = point.values[a];
  return settings;
}

Json point_json(const SweepRequest& request, const SweepPoint& point, const PointResult& result) {
  Json json = {{"name", point.name},          {"settings", settings_json(request, point)},
               {"towers", point.towers},      {"tower_threads", point.tower_threads},
               {"state", state_text(result)}, {"exit", result.exit},
               {"message", result.message}};
  if (result.steps == 0) return json;
  if (result.last) {
    json["metric"] = to_string(result.last->metric);
    json["best_metric"] = to_string(result.best_by);
    json["data"] = name_of_data(result.held_out);
    json["best"] = number_json(result.best);
    json["last"] = number_json(result.last->value);
    json["loss"] = number_json(result.loss);
  }
  if (result.test) json["test"] = number_json(result.test->value);
  json["train_loss"] = number_json(result.train_loss);
  json["steps"] = result.steps;
  json["samples_per_s"] = number_json(result.samples_per_s);
  json["seconds"] = number_json(result.seconds);
  json["parameter_hash"] = result.hash;
  return json;
}

// Columns of sweep.csv behind the axes: fields of a point in sweep.json.
constexpr std::array csv_fields = {
    "state",      "exit",  "message",       "metric",  "best_metric",    "best", "last", "loss",
    "train_loss", "steps", "samples_per_s", "seconds", "parameter_hash", "data", "test"};

// Enough digits to read back the same number; empty where there is none.
std::string cell_of(const Json& field) {
  if (field.is_null()) return "";
  if (field.is_string()) return field.get<std::string>();
  return field.is_number_float() ? fmt::format("{}", field.get<double>()) : field.dump();
}

std::vector<std::string> csv_row(const SweepPoint& point, const Json& fields) {
  std::vector<std::string> row = {point.name};
  row.insert(row.end(), point.values.begin(), point.values.end());
  for (const char* field : csv_fields) row.push_back(cell_of(fields.value(field, Json())));
  return row;
}

Json json_of(const SweepReport& report) {
  Json json = {{"format", format_name}, {"version", format_version}};
  json["configs"] = Json::array();
  for (const ConfigText& config : report.request.configs)
    json["configs"].push_back({{"name", config.name}, {"text", config.text}});
  json["overrides"] = report.request.overrides;
  json["axes"] = Json::array();
  for (const GridAxis& axis : report.request.axes)
    json["axes"].push_back({{"key", axis.key}, {"values", axis.values}});
  json["points"] = Json::array();
  for (size_t i = 0; i < report.points.size(); ++i)
    json["points"].push_back(point_json(report.request, report.points[i], report.results[i]));
  return json;
}

SweepRequest request_of(const Json& json) {
  SweepRequest request;
  for (const Json& text : json.at("configs"))
    request.configs.push_back({text.at("name").get<std::string>(), text.at("text")});
  request.overrides = json.at("overrides").get<std::vector<std::string>>();
  for (const Json& axis : json.at("axes"))
    request.axes.push_back({axis.at("key").get<std::string>(), axis.at("values")});
  return request;
}

}  // namespace

std::string sweep_table(const SweepReport& report) {
  std::vector<FigureColumn> figures = figures_of(report.results);
  TextTable table = {headings(report.request.axes)};
  for (const FigureColumn& figure : figures) table[0].push_back(figure.heading);
  table[0].insert(table[0].end(), {"loss", "samples/s", "time", "parameter hash", "state"});
  std::string messages;
  for (size_t i : sweep_ranking(report.results)) {
    const PointResult& result = report.results[i];
    std::vector<std::string> row = report.points[i].values, cells = measured_cells(result);
    for (const FigureColumn& figure : figures) row.push_back(figure.cell(result));
    row.insert(row.end(), cells.begin(), cells.end());
    row.push_back(state_text(result));
    table.push_back(std::move(row));
    bool bad = result.state == State::failed || result.state == State::diverged;
    if (bad)
      messages += fmt::format("{}{}: {}\n", messages.empty() ? "\n" : "", report.points[i].name,
                              result.message);
  }
  return aligned_text(table) + messages;
}

std::string sweep_csv(const SweepReport& report) {
  std::vector<std::string> heading = {"point"};
  for (const GridAxis& axis : report.request.axes) heading.push_back(axis.key);
  heading.insert(heading.end(), csv_fields.begin(), csv_fields.end());
  std::string text = csv_line(heading);
  for (size_t i : sweep_ranking(report.results)) {
    Json fields = point_json(report.request, report.points[i], report.results[i]);
    fields.emplace("steps", 0);  // where the run has written none
    text += csv_line(csv_row(report.points[i], fields));
  }
  return text;
}

std::string sweep_json(const SweepReport& report) {
  return json_of(report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string sweep_html(const SweepReport& report) {
  Json data = json_of(report);
  data["ranking"] = sweep_ranking(report.results);
  const PointResult& best = report.results.at(data["ranking"].at(0));
  const SweepPoint& point = report.points.at(data["ranking"].at(0));
  auto figure = best_figure(best);
  std::string summary =
      figure ? fmt::format("The best is {}, with {} {}. ", point.name, figure->of, figure->text)
             : "No run has ended yet. ";
  return html_of({"sweep", "Sweep of " + counted(std::ssize(report.points), "run"),
                  summary + "sweep.csv has a line a run.",
                  data.dump(-1, ' ', false, Json::error_handler_t::replace)});
}

RecordedSweep read_sweep_json(const std::string& text, const std::string& file) {
  try {
    Json json = Json::parse(text);
    if (json.at("format") != format_name || json.at("version") != format_version)
      fail(Category::config, "{}: is not the record of a sweep of this version", file);
    RecordedSweep sweep{request_of(json), {}, {}};
    if (json.at("points").size() != grid_size(sweep.request.axes))
      fail(Category::config, "{}: has {} points, and its axes have {}", file,
           json.at("points").size(), grid_size(sweep.request.axes));
    for (const Json& point : json.at("points")) {
      sweep.towers.push_back(point.at("towers").get<int64_t>());
      sweep.tower_threads.push_back(point.at("tower_threads").get<int64_t>());
    }
    return sweep;
  } catch (const nlohmann::json::exception& error) {
    fail(Category::config, "{}: cannot be read as the record of a sweep: {}", file, error.what());
  }
}

}  // namespace spire
