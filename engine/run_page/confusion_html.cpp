#include "engine/run_page/confusion_html.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <spire/error.h>

#include "engine/observe/class_scores.h"
#include "engine/observe/formatting.h"
#include "engine/page/html_text.h"

namespace spire::inline run_page {
namespace {

constexpr size_t most_classes = 32;  // of a whole table
constexpr size_t listed_pairs = 20;

struct Counts {
  const ConfusionMatrix& matrix;
  size_t classes() const { return matrix.classes.size(); }
  int64_t at(size_t row, size_t column) const { return matrix.counts[row * classes() + column]; }
  int64_t row(size_t row) const {
    auto begin = matrix.counts.begin() + static_cast<std::ptrdiff_t>(row * classes());
    return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(classes()), int64_t{0});
  }
};

// The share of the row's samples is the strength of the cell's colour: blue for right, red for
// wrong answers.
std::string cell(const Counts& counts, size_t row, size_t column) {
  int64_t count = counts.at(row, column), all = counts.row(row);
  double share = all > 0 ? static_cast<double>(count) / static_cast<double>(all) : 0;
  return fmt::format(
      "<td class=\"n cell s{}\" style=\"--share:{:.0f}%\" title=\"{} as {}: {} of {}\">{}</td>",
      row == column ? 0 : 1, 100 * share, html_text(counts.matrix.classes[row]),
      html_text(counts.matrix.classes[column]), count, all, count > 0 ? count_text(count) : "");
}

std::string score_cell(std::optional<double> score) {
  return fmt::format("<td class=\"n\">{}</td>", score ? percent_text(*score) : "");
}

std::string whole_table(const Counts& counts, const std::vector<ClassScore>& scores) {
  std::string html = "<thead><tr><th>true \\ found</th>";
  for (const std::string& name : counts.matrix.classes)
    html += fmt::format("<th class=\"n\">{}</th>", html_text(name));
  html +=
      "<th class=\"n\">right</th><th class=\"n\">precision</th><th class=\"n\">F1</th></tr>"
      "</thead>\n<tbody>\n";
  for (size_t row = 0; row < counts.classes(); ++row) {
    html += fmt::format("<tr><th>{}</th>", html_text(counts.matrix.classes[row]));
    for (size_t column = 0; column < counts.classes(); ++column) html += cell(counts, row, column);
    html += score_cell(scores[row].recall()) + score_cell(scores[row].precision()) +
            score_cell(scores[row].f1()) + "</tr>\n";
  }
  return html + "</tbody>";
}

std::string pairs_table(const Counts& counts) {
  std::vector<std::pair<int64_t, std::pair<size_t, size_t>>> pairs;
  for (size_t row = 0; row < counts.classes(); ++row)
    for (size_t column = 0; column < counts.classes(); ++column)
      if (row != column && counts.at(row, column) > 0)
        pairs.push_back({counts.at(row, column), {row, column}});
  std::ranges::stable_sort(pairs, std::ranges::greater{},
                           [](const auto& pair) { return pair.first; });
  pairs.resize(std::min(pairs.size(), listed_pairs));
  std::string html =
      "<thead><tr><th>true</th><th>found</th><th class=\"n\">samples</th></tr></thead>\n<tbody>\n";
  for (const auto& [count, at] : pairs)
    html += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td></tr>\n",
                        html_text(counts.matrix.classes[at.first]),
                        html_text(counts.matrix.classes[at.second]), count_text(count));
  return html + "</tbody>";
}

}  // namespace

std::string confusion_html(const ConfusionMatrix& matrix) {
  size_t classes = matrix.classes.size();
  require(matrix.counts.size() == classes * classes, "{} counts for {} classes",
          matrix.counts.size(), classes);
  Counts counts{matrix};
  std::vector<ClassScore> scores = class_scores(matrix.counts, classes);
  int64_t all = 0, right = 0;
  for (const ClassScore& score : scores) {
    all += score.actual;
    right += score.tp;
  }
  auto f1 = f1_macro(scores);
  std::string caption = fmt::format(
      "Test data by {}: {} of {} right{}{}", html_text(matrix.checkpoint), count_text(right),
      count_text(all), f1 ? fmt::format(", macro F1 {:.4f}", *f1) : "",
      classes > most_classes ? "; classes most often taken for another" : "");
  return fmt::format(
      "<div class=\"wide\"><table class=\"confusion\"><caption>{}</caption>\n{}"
      "</table></div>\n",
      caption, classes > most_classes ? pairs_table(counts) : whole_table(counts, scores));
}

}  // namespace spire::inline run_page
