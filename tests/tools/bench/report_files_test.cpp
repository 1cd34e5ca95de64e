// bench.json there and back, damaged files, and bench.csv read by the rules of RFC 4180.
#include <filesystem>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/base/folder.h"
#include "tests/base/message_of.h"
#include "tests/tools/bench/sample_report.h"
#include "tools/bench/report/bench_files.h"

namespace spire {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::SizeIs;

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
  EXPECT_THAT(refusal_with("/points/2/rounds/0/samples_per_s", "fast"),
              HasSubstr("b.json: points[2].rounds[0].samples_per_s: expected a number of at least "
                        "0, found \"fast\""));
  EXPECT_THAT(refusal_with("/points/2/rounds/0/samples_per_s", -1), HasSubstr("found -1"));
  EXPECT_THAT(refusal_with("/points/0/variant/precision", "fp8"),
              HasSubstr("points[0].variant.precision: expected one of fp32, bf16, fp16"));
  EXPECT_THAT(refusal_with("/points/1/variant/processes", 3),
              HasSubstr("points[1].variant: 2 devices in 3 processes"));
  EXPECT_THAT(refusal_with("/points/1/variant/processes", 0), HasSubstr("impossible"));
  EXPECT_THAT(refusal_with("/points/0/rounds/0/peak_memory/weights", 0.5),
              HasSubstr("rounds[0].peak_memory.weights: expected a whole number"));
  EXPECT_THAT(refusal_with("/steps", 18446744073709551615u), HasSubstr("steps: expected a whole"));
  EXPECT_THAT(refusal_with("/machine", ordered_json::array()),
              HasSubstr("machine: expected an object"));
  EXPECT_THAT(refusal_with("/points", "none"), HasSubstr("points: expected a list"));
  EXPECT_THAT(refusal_with("/machine/gpus", ordered_json::array({1})),
              HasSubstr("machine.gpus[0]: expected a text"));
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

}  // namespace
}  // namespace spire
