// bench.json there and back, damaged files, bench.csv read by the rules of RFC 4180, and the page,
// which shows the figures and whose script draws them.
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/base/folder.h"
#include "tests/base/message_of.h"
#include "tests/observe/page/drawn_page.h"
#include "tests/observe/reports.h"
#include "tests/tools/bench/sample_report.h"
#include "tests/tools/words.h"
#include "tools/bench/report/bench_files.h"
#include "tools/bench/report/bench_table.h"

namespace spire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::json;
using nlohmann::ordered_json;

BenchReport report_with_all_fields() {
  BenchReport report = sample_report({.kind = Kind::cuda});
  report.reduction = RunConfig::Reduction::native;
  report.machine.gpus = {"GPU \"A\"", "Ä"};
  report.points[2].rounds[1].joules = 0.1 + 0.2;
  report.points[2].rounds[1].others_cores = 1.6;
  report.points[3].rounds.clear();
  report.points[3].error = "line 1,\nline 2";
  return report;
}

TEST(BenchJson, GivesTheReportBack) {
  BenchReport report = report_with_all_fields();
  std::string text = bench_json(report);
  BenchReport again = parse_bench_json(text, "x");
  EXPECT_EQ(bench_json(again), text);
  EXPECT_EQ(again.machine.gpus, report.machine.gpus);
  EXPECT_EQ(again.reduction, report.reduction);
  ASSERT_THAT(again.points, SizeIs(report.points.size()));
  for (size_t i = 0; i < report.points.size(); ++i) {
    EXPECT_EQ(again.points[i].variant, report.points[i].variant);
    ASSERT_THAT(again.points[i].rounds, SizeIs(report.points[i].rounds.size()));
    EXPECT_EQ(again.points[i].error, report.points[i].error);
  }
  const Measurement &before = report.points[2].rounds[1], &after = again.points[2].rounds[1];
  EXPECT_EQ(after.joules, 0.1 + 0.2);
  EXPECT_EQ(after.others_cores, 1.6);
  EXPECT_EQ(after.samples_per_s, before.samples_per_s);
  EXPECT_EQ(after.times.backward, before.times.backward);
  EXPECT_EQ(after.peak_memory, before.peak_memory);
  EXPECT_EQ(again.points[2].rounds[0].joules, std::nullopt);
}

// Reports of the version before others_cores.
TEST(BenchJson, WhatAnOlderVersionDidNotKnowIsUnknown) {
  BenchReport report = report_with_all_fields();
  ordered_json json = ordered_json::parse(bench_json(report));
  json["points"][2]["rounds"][1].erase("others_cores");
  BenchReport again = parse_bench_json(json.dump(), "x");
  EXPECT_EQ(again.points[2].rounds[1].others_cores, std::nullopt);
}

TEST(BenchJson, IsWrittenAndReadAsAFile) {
  Folder folder;
  std::filesystem::path path = folder / "bench.json";
  write_bench_json(path, sample_report());
  EXPECT_EQ(bench_json(read_bench_json(path)), bench_json(sample_report()));
  EXPECT_THAT(message_of(Category::config, [&] { read_bench_json(folder / "none.json"); }),
              HasSubstr("none.json"));
  EXPECT_THAT(message_of(Category::config,
                         [&] { write_bench_json(folder / "no" / "a.json", sample_report()); }),
              HasSubstr("a.json"));
}

std::string refusal_of(const std::string& text) {
  return message_of(Category::config, [&] { parse_bench_json(text, "b.json"); });
}

// Replaces the value at a JSON pointer.
std::string refusal_with(const char* pointer, const ordered_json& value) {
  ordered_json json = ordered_json::parse(bench_json(sample_report()));
  json[ordered_json::json_pointer(pointer)] = value;
  return refusal_of(json.dump());
}

TEST(BenchJson, ForeignFilesAreRefused) {
  EXPECT_THAT(refusal_of(""), HasSubstr("b.json: byte 1: is not JSON"));
  EXPECT_THAT(refusal_of("[1]"), HasSubstr("b.json: is no report"));
  EXPECT_THAT(refusal_of(R"({"format": 3})"), HasSubstr("b.json: is no report"));
  EXPECT_THAT(refusal_with("/version", 2), HasSubstr("b.json: has version 2"));
}

TEST(BenchJson, ADamagedFieldIsNamed) {
  const std::tuple<const char*, ordered_json, const char*> damages[] = {
      {"/points/2/rounds/0/samples_per_s", "fast",
       "b.json: points[2].rounds[0].samples_per_s: expected a number of at least 0, found "
       "\"fast\""},
      {"/points/2/rounds/0/samples_per_s", -1, "found -1"},
      {"/points/0/variant/precision", "fp8",
       "points[0].variant.precision: expected one of fp32, bf16, fp16"},
      {"/points/1/variant/processes", 3, "points[1].variant: 2 devices in 3 processes"},
      {"/points/1/variant/processes", 0, "impossible"},
      {"/points/0/rounds/0/peak_memory/weights", 0.5,
       "rounds[0].peak_memory.weights: expected a whole number"},
      {"/steps", 18446744073709551615u, "steps: expected a whole"},
      {"/machine", ordered_json::array(), "machine: expected an object"},
      {"/points", "none", "points: expected a list"},
      {"/machine/gpus", ordered_json::array({1}), "machine.gpus[0]: expected a text"}};
  for (const auto& [pointer, value, says] : damages)
    EXPECT_THAT(refusal_with(pointer, value), HasSubstr(says));
  ordered_json json = ordered_json::parse(bench_json(sample_report()));
  json["points"][0].erase("error");
  EXPECT_THAT(refusal_of(json.dump()), HasSubstr("points[0].error: the field is missing"));
}

TEST(BenchJson, NumbersBeyondFloat64AreRefused) {
  std::string text = bench_json(sample_report({.devices = {1}}));
  size_t at = text.find("\"steps\": 20");
  ASSERT_NE(at, text.npos);
  EXPECT_THAT(refusal_of(text.replace(at, 11, "\"steps\": 1e400")),
              HasSubstr("b.json: has a number beyond the range of float64"));
  EXPECT_THAT(refusal_with("/steps", (uint64_t{1} << 53) + 1), HasSubstr("from 0 to 2^53"));
}

// 1 MB of brackets would overflow the stack of whatever follows them.
TEST(BenchJson, DeepNestingIsRefused) {
  std::string deep(1 << 20, '['), objects;
  for (int i = 0; i < 1000; ++i) objects += R"({"format":)";
  for (const std::string& text : {deep, deep + std::string(deep.size(), ']'), objects})
    EXPECT_THAT(refusal_of(text), HasSubstr("b.json: has lists or objects 32 deep"));
  EXPECT_THAT(message_of(Category::config, [&] { parse_measurement_json(deep, "m"); }),
              HasSubstr("m: has lists or objects 32 deep"));
  ordered_json nested = 1;
  for (int i = 0; i < 20; ++i) nested = ordered_json::array({nested});
  EXPECT_THAT(refusal_with("/version", nested), HasSubstr("has version array"));
  EXPECT_THAT(refusal_with("/steps", nested), HasSubstr("found array"));
  EXPECT_THAT(refusal_with("/format", nested), HasSubstr("is no report"));
  ordered_json json = ordered_json::parse(bench_json(sample_report()));
  json["unknown"] = nested;
  EXPECT_EQ(bench_json(parse_bench_json(json.dump(), "x")), bench_json(sample_report()));
}

// A file cut anywhere but in its last newline is refused.
TEST(BenchJson, ATruncatedFileIsRefused) {
  std::string text = bench_json(sample_report({.devices = {1}, .rounds = 1}));
  for (size_t size = 0; size + 1 < text.size(); size += 7)
    EXPECT_THAT(refusal_of(text.substr(0, size)), HasSubstr("is not JSON")) << size;
}

// Reads CSV strictly by RFC 4180.
std::vector<std::vector<std::string>> parse_csv(std::string_view text) {
  std::vector<std::vector<std::string>> rows = {{""}};
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string& field = rows.back().back();
    if (quoted && text.substr(i, 2) == "\"\"") {
      field += text[++i];
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[i] == ',') {
      rows.back().emplace_back();
    } else if (!quoted && text.substr(i, 2) == "\r\n") {
      rows.push_back({""});
      ++i;
    } else {
      field += text[i];
    }
  }
  EXPECT_EQ(rows.back(), std::vector<std::string>{""});  // the text ends with CR LF
  rows.pop_back();
  return rows;
}

TEST(BenchCsv, HasALineForEachRound) {
  BenchReport report = report_with_all_fields();
  report.model = "my, \"model\"";
  auto rows = parse_csv(bench_csv(report));
  EXPECT_THAT(rows, ::testing::Each(SizeIs(rows[0].size())));
  ASSERT_THAT(rows, SizeIs(1 + 31 * 3 + 1));  // of 32 points one failed
  auto cell = [&](size_t row, const std::string& name) {
    return rows[row][static_cast<size_t>(std::ranges::find(rows[0], name) - rows[0].begin())];
  };
  size_t row = 1 + 2 * 3 + 1;  // point 2, round 1
  const Measurement& round = report.points[2].rounds[1];
  EXPECT_EQ(cell(row, "model"), report.model);
  EXPECT_EQ(cell(row, "devices"), "4");
  EXPECT_EQ(cell(row, "round"), "2");
  EXPECT_EQ(std::stod(cell(row, "samples_per_s")), round.samples_per_s);
  EXPECT_EQ(std::stod(cell(row, "backward_seconds")), round.times.backward);
  EXPECT_EQ(std::stod(cell(row, "joules")), 0.1 + 0.2);
  EXPECT_EQ(cell(row, "parameter_hash"), round.parameter_hash);
  EXPECT_EQ(cell(row, "peak_weights"), fmt::format("{}", 8 << 20));
  EXPECT_EQ(cell(row + 2, "error"), "line 1,\nline 2");
  EXPECT_EQ(cell(row + 2, "samples_per_s"), "");
}

TEST(BenchPage, HasTheFiguresOfEveryPoint) {
  BenchReport report = sample_report();
  Json page = bench_page_json(report);
  ASSERT_EQ(page["points"].size(), report.points.size());
  for (const Point& point : report.points) {
    PointFigures figures = figures_of(report, point);
    std::string title = fmt::format("{}: {} samples/s, {}", to_text(point.variant),
                                    figure_text(figures.samples_per_s),
                                    range_text(figures.slowest, figures.fastest));
    auto shown = std::ranges::find_if(page["points"], [&](const Json& one) {
      return one["title"] == title &&
             (one["scaling"] == "strong") == (point.variant.scaling == Scaling::strong);
    });
    ASSERT_NE(shown, page["points"].end()) << title;
    EXPECT_EQ((*shown)["samples_per_s"], figures.samples_per_s);
    EXPECT_EQ((*shown)["efficiency"], *figures.efficiency);
    double sum = 0;
    for (const auto& part : (*shown)["step_ms"]) sum += part.get<double>();
    EXPECT_NEAR(sum, 1000 * figures.step_seconds, 1e-9 * sum);
    auto n = static_cast<double>(point.variant.devices);
    EXPECT_EQ((*shown)["memory"]["activations"], 40 * n * (1 << 20));
    EXPECT_EQ((*shown)["rss"], (50 * n + 55) * (1 << 20));
  }
  EXPECT_EQ(page["lead"][0]["text"], "14 011 samples/s");
  EXPECT_THAT(page["lead"][0]["note"].get<std::string>(), HasSubstr("on 8 CPU devices"));
  EXPECT_THAT(page["notes"].dump(), HasSubstr("same bits on every count: fp32 ✓"));
  EXPECT_EQ(page["tables"][0]["rows"], Json(tables_of(report).speed));
}

TEST(BenchPage, DrawsEachScaling) {
  SPIRE_SKIP_WITHOUT_NODE();
  Json page = drawn(bench_html(sample_report()));
  EXPECT_EQ(page["figures"].size(), 8u);  // four for each scaling
  EXPECT_EQ(page["elements"]["table"], 4);
  EXPECT_EQ(page["elements"]["tr"], 3 * (1 + 32) + 1 + 4);
  EXPECT_EQ(page["paths"]["curve ideal"].size(), 2 * (4 + 1u));
  EXPECT_FALSE(page["paths"].contains("curve modelled"));
  std::string text = page["text"];
  expect_parts(
      text, {"fp32, parameter_device", "fp32, mirrored", "bf16, parameter_device", "bf16, mirrored",
             "51 MiB, host 105 MiB", "devices (log scale)", "samples/s (log scale)"});
}

TEST(BenchPage, MarksTheModel) {
  std::vector<ModelledPoint> modelled = {{Scaling::weak, 64, 9e4, "bf16, <IB>"},
                                         {Scaling::weak, 16, 3e4, "bf16, <IB>"},
                                         {Scaling::strong, 16, 3e4, "NVLink"}};
  EXPECT_EQ(bench_page_json(sample_report(), modelled)["modelled"][2]["devices"], 64);
  SPIRE_SKIP_WITHOUT_NODE();
  Json page = drawn(bench_html(sample_report(), modelled));
  EXPECT_EQ(page["paths"]["curve modelled"].size(), 2u);
  EXPECT_THAT(page["text"].get<std::string>(), HasSubstr("bf16, <IB> (model, not measured)"));
}

TEST(BenchPage, EscapesEveryText) {
  std::string evil = "</style><b a=\"'&";
  BenchReport report = sample_report({.devices = {1, 2}});
  for (std::string* text :
       {&report.date, &report.spire, &report.command, &report.model, &report.data, &report.config,
        &report.machine.host, &report.machine.system, &report.machine.cpu,
        &report.machine.instructions, &report.points[0].rounds[0].parameter_hash,
        &report.points[1].error})
    *text = evil;
  report.points[0].rounds[0].peak_memory[evil] = 1;
  report.points[0].rounds.resize(1);
  report.machine.gpus = {evil};
  std::string page = bench_html(report);
  EXPECT_THAT(page, Not(HasSubstr("<b a")));
  SPIRE_SKIP_WITHOUT_NODE();
  EXPECT_THAT(drawn(page)["text"].get<std::string>(), HasSubstr(evil));
}

TEST(BenchPage, OfReportsWithLittleInThem) {
  BenchReport one = sample_report({.devices = {1},
                                   .precisions = {Precision::fp32},
                                   .strategies = {Strategy::sharded},
                                   .scalings = {Scaling::weak},
                                   .rounds = 1});
  BenchReport zeros = one, failed = one;
  zeros.points[0].rounds[0] = {};  // zeros alone
  failed.points[0].rounds.clear();
  failed.points[0].error = "no GPU";
  Json page = bench_page_json(failed);
  EXPECT_EQ(page["lead"][0]["text"], "Nothing ran.");
  EXPECT_THAT(page["notes"].dump(), HasSubstr("no GPU"));
  SPIRE_SKIP_WITHOUT_NODE();
  EXPECT_EQ(drawn(bench_html(one))["figures"].size(), 4u);
  drawn(bench_html(zeros));
  EXPECT_EQ(drawn(bench_html(failed))["figures"].size(), 0u);
  drawn(bench_html({}));
}

}  // namespace
}  // namespace spire
