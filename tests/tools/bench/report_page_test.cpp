// The page of a report shows the figures, and its script draws them.
#include <gmock/gmock.h>

#include "tests/observe/page/drawn_page.h"
#include "tests/tools/bench/sample_report.h"
#include "tools/bench/report/bench_page.h"
#include "tools/bench/report/bench_table.h"

namespace spire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

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
  for (const char* label :
       {"fp32, parameter_device", "fp32, mirrored", "bf16, parameter_device", "bf16, mirrored",
        "51 MiB, host 105 MiB", "devices (log scale)", "samples/s (log scale)"})
    EXPECT_THAT(text, HasSubstr(label));
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
