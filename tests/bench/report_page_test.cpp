// The page of a report is well-formed, escapes all texts, and shows the figures.
#include <gmock/gmock.h>

#include "engine/bench/page/bench_html.h"
#include "engine/bench/report/bench_cells.h"
#include "engine/bench/report/bench_table.h"
#include "engine/page/html_text.h"
#include "tests/bench/sample_report.h"
#include "tests/page/elements.h"

namespace spire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HtmlText, EscapesWhatHasAMeaning) {
  EXPECT_EQ(html_text("<a href=\"x\">'&amp;\x01\n"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;amp;\xEF\xBF\xBD\n");
}

TEST(Page, IsWellFormedAndSelfContained) {
  BenchReport report = sample_report();
  std::string page = bench_html(report);
  auto elements = elements_of(page);
  EXPECT_EQ(elements["html"], 1);
  EXPECT_EQ(elements["figure"], 8);  // four for each scaling
  EXPECT_EQ(elements["table"], 4);
  EXPECT_EQ(elements["tr"], 3 * (1 + 32) + 1 + 4);
  EXPECT_EQ(elements["script"] + elements["link"] + elements["img"], 0);
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("url(")));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(page, Not(HasSubstr("inf\"")));
}

TEST(Page, ShowsTheFiguresOfEverySeries) {
  BenchReport report = sample_report();
  std::string page = bench_html(report);
  for (const char* label :
       {"fp32, parameter_device", "fp32, mirrored", "bf16, parameter_device", "bf16, mirrored"})
    EXPECT_THAT(page, HasSubstr(fmt::format("</svg>{}</li>", label)));
  for (const Point& point : report.points) {
    PointFigures figures = figures_of(report, point);
    EXPECT_THAT(page,
                HasSubstr(fmt::format("<title>{}: {} samples/s, {}</title>", to_text(point.variant),
                                      figure_text(figures.samples_per_s),
                                      range_text(figures.slowest, figures.fastest))));
  }
  for (const auto& row : tables_of(report).speed)
    for (size_t i = 0; i + 1 < row.size(); ++i)
      EXPECT_THAT(page, HasSubstr(">" + html_text(row[i]) + "</t"));
  EXPECT_THAT(page, HasSubstr("same bits on every count: fp32 <b class=\"good\">✓</b>"));
  EXPECT_THAT(page, HasSubstr("Up to 14 011 samples/s on 8 CPU devices"));
  EXPECT_THAT(page, Not(HasSubstr("not measured")));
}

TEST(Page, MarksTheModel) {
  std::string page = bench_html(sample_report(), {{Scaling::weak, 64, 9e4, "bf16, <IB>"}});
  elements_of(page);
  EXPECT_THAT(page, HasSubstr("</svg>bf16, &lt;IB&gt; (model, not measured)</li>"));
  EXPECT_THAT(page, HasSubstr("class=\"modelled\""));
}

TEST(Page, EscapesEveryText) {
  std::string evil = "</style><b a=\"'&";
  BenchReport report = sample_report({.devices = {1, 2}});
  for (std::string* text :
       {&report.date, &report.spire, &report.command, &report.model, &report.data, &report.config,
        &report.machine.host, &report.machine.system, &report.machine.cpu,
        &report.machine.instructions, &report.points[0].rounds[0].parameter_hash,
        &report.points[0].rounds[0].peak_memory[0].first, &report.points[1].error})
    *text = evil;
  report.points[0].rounds.resize(1);
  report.machine.gpus = {evil};
  std::string page = bench_html(report);
  EXPECT_EQ(elements_of(page)["style"], 1);
  EXPECT_THAT(page, Not(HasSubstr("<b a")));
  EXPECT_THAT(page, HasSubstr(html_text(evil)));
}

TEST(Page, OfReportsWithLittleInThem) {
  BenchReport one = sample_report({.devices = {1},
                                   .precisions = {Precision::fp32},
                                   .strategies = {Strategy::sharded},
                                   .scalings = {Scaling::weak},
                                   .rounds = 1});
  EXPECT_EQ(elements_of(bench_html(one))["figure"], 4);
  one.points[0].rounds[0] = {};  // zeros alone
  std::string zeros = bench_html(one);
  elements_of(zeros);
  EXPECT_THAT(zeros, Not(HasSubstr("nan")));
  one.points[0].rounds.clear();
  one.points[0].error = "no GPU";
  std::string failed = bench_html(one);
  EXPECT_EQ(elements_of(failed)["figure"], 0);
  EXPECT_THAT(failed, HasSubstr("Nothing ran."));
  EXPECT_THAT(failed, HasSubstr("no GPU"));
  elements_of(bench_html({}));
}

}  // namespace
}  // namespace spire
