#include "engine/bench/page/bench_html.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include <spire/text.h>

#include "engine/bench/report/bench_cells.h"
#include "engine/bench/report/bench_table.h"
#include "engine/config/words.h"
#include "engine/page/html_text.h"
#include "engine/page/page_parts.h"

namespace spire::inline bench {
namespace {

bool ran(const BenchReport& report, Scaling scaling) {
  return std::ranges::any_of(report.points, [&](const Point& point) {
    return point.variant.scaling == scaling && !point.rounds.empty();
  });
}

bool promises_bits(const BenchReport& report) {
  return report.reduction == RunConfig::Reduction::invariant;
}

// Wraps the ticks and crosses of a text in elements with their colour.
std::string with_ticks(const std::string& text) {
  std::string html = html_text(text);
  auto wrap = [&](const std::string& sign, const char* name) {
    std::string element = fmt::format("<b class=\"{}\">{}</b>", name, sign);
    for (size_t at = html.find(sign); at != html.npos; at = html.find(sign, at + element.size()))
      html.replace(at, sign.size(), element);
  };
  wrap("✓", "good");
  wrap("✗", "bad");
  return html;
}

// The ideal lines of all series share one item of the legend.
std::string line_figure(const LineChart& chart, const std::string& note) {
  std::string measured, ideal, modelled;
  for (const LineSeries& series : chart.series) {
    if (series.style == LineStyle::ideal) {
      ideal = line_legend(no_colour, LineStyle::ideal, "ideal");
    } else {
      std::string& legend = series.style == LineStyle::measured ? measured : modelled;
      legend += line_legend(series.colour, series.style, series.label);
    }
  }
  return figure(chart.title, note, measured + ideal + modelled, line_chart(chart));
}

std::string step_figure(const BenchReport& report, Scaling scaling) {
  BarChart chart = step_chart(report, scaling);
  return figure(chart.title, "of the round of median speed", parts_legend(chart), bar_chart(chart));
}

std::string memory_figure(const BenchReport& report, Scaling scaling) {
  BarChart chart = memory_chart(report, scaling);
  std::string legend =
      parts_legend(chart) + line_mark_legend("planned") + diamond_mark_legend("host RSS");
  return figure(chart.title, "all devices and processes together", legend, bar_chart(chart));
}

std::string charts_of(const BenchReport& report, Scaling scaling,
                      const std::vector<ModelledPoint>& modelled) {
  bool strong = scaling == Scaling::strong;
  std::string html = fmt::format(
      "<section><h2>{}</h2><p class=\"soft\">{}</p>\n<div class=\"charts\">\n",
      strong ? "Strong scaling" : "Weak scaling",
      strong ? promises_bits(report)
                   ? "The towers of the run stay: every number of devices must give the same bits."
                   : "The towers of the run stay."
             : "Towers grow with the devices: the global batch does, too.");
  html += line_figure(speed_chart(report, scaling, modelled), "median and range of the rounds");
  LineChart efficiency = efficiency_chart(report, scaling);
  if (efficiency.series.size() > 1)
    html += line_figure(efficiency, "of a device, against one alone");
  html += step_figure(report, scaling) + memory_figure(report, scaling);
  return html + "</div></section>\n";
}

// Numbers stand at the right edge in columns `first` to `last`.
std::string table_html(const char* caption, const TextTable& table, size_t first, size_t last) {
  if (table.size() < 2) return "";
  std::string html = fmt::format("<div class=\"wide\"><table><caption>{}</caption>\n", caption);
  for (size_t i = 0; i < table.size(); ++i) {
    const char* cell = i == 0 ? "th" : "td";
    html += i == 0 ? "<thead><tr>" : i == 1 ? "<tbody><tr>" : "<tr>";
    for (size_t column = 0; column < table[i].size(); ++column) {
      bool number = column >= first && column <= last;
      html += fmt::format("<{}{}>{}</{}>", cell, number ? " class=\"n\"" : "",
                          with_ticks(table[i][column]), cell);
    }
    for (size_t column = table[i].size(); column < table[0].size(); ++column) html += "<td></td>";
    html += i == 0 ? "</tr></thead>\n" : "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string tables_html(const BenchTables& tables) {
  auto last = [](const TextTable& table) { return table[0].size() - 1; };
  return "<section><h2>Figures</h2>\n" +
         table_html("Speed", tables.speed, variant_columns, last(tables.speed) - 1) +
         table_html("Milliseconds per step", tables.step, variant_columns, last(tables.step)) +
         table_html("Peak memory", tables.memory, variant_columns, last(tables.memory)) +
         table_html("What the machine reaches without a model", tables.ceilings, 1, 5) +
         "</section>\n";
}

// The fastest point in words.
std::string headline(const BenchReport& report) {
  const Point* fastest = nullptr;
  PointFigures best;
  for (const Point& point : report.points) {
    PointFigures figures = figures_of(report, point);
    if (figures.samples_per_s <= best.samples_per_s) continue;
    fastest = &point;
    best = figures;
  }
  if (!fastest) return "Nothing ran.";
  std::string text = fmt::format(
      "Up to {} samples/s on {} ({}, {})", figure_text(best.samples_per_s),
      counted(fastest->variant.devices, fastest->variant.kind == Kind::cpu ? "CPU device" : "GPU"),
      word_of(fastest->variant.precision), word_of(fastest->variant.strategy));
  if (best.efficiency && fastest->variant.devices > 1)
    text += fmt::format(", {} efficiency", share_text(*best.efficiency));
  return text + ".";
}

std::string header_html(const BenchReport& report, const BenchTables& tables) {
  std::string html =
      fmt::format("<header><h1>{}: speed over devices</h1>\n<div class=\"result\"><p>{}</p>\n",
                  html_text(report.model), html_text(headline(report)));
  for (const std::string& note : tables.notes) html += fmt::format("<p>{}</p>\n", with_ticks(note));
  html += "</div>\n<dl>\n";
  for (const auto& [title, fact] : facts_of(report)) {
    bool typed = title == "command";
    html += fmt::format("<dt>{}</dt><dd>{}{}{}</dd>\n", html_text(title), typed ? "<code>" : "",
                        html_text(fact), typed ? "</code>" : "");
  }
  return html + "</dl></header>\n";
}

}  // namespace

std::string bench_html(const BenchReport& report, const std::vector<ModelledPoint>& modelled) {
  BenchTables tables = tables_of(report);
  std::string html = header_html(report, tables) + "<main>\n";
  for (Scaling scaling : {Scaling::strong, Scaling::weak})
    if (ran(report, scaling)) html += charts_of(report, scaling, modelled);
  html += tables_html(tables);
  if (!report.config.empty()) html += folded_text("Config", report.config);
  return whole_page(report.model + " on Spire", html + "</main>\n");
}

}  // namespace spire::inline bench
