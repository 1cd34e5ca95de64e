#include "engine/page/svg_marks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "engine/page/html_text.h"

namespace spire::inline page {
namespace {

// Path of one of five shapes: circle, square, triangle, diamond, cross.
std::string shape(int number, double x, double y) {
  switch (number) {
    case 0:
      return fmt::format("M{:.1f} {:.1f}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", x - 4, y);
    case 1:
      return fmt::format("M{:.1f} {:.1f}h7.4v7.4h-7.4z", x - 3.7, y - 3.7);
    case 2:
      return fmt::format("M{:.1f} {:.1f}l4.8 8.4h-9.6z", x, y - 5.2);
    case 3:
      return fmt::format("M{:.1f} {:.1f}l5 5l-5 5l-5 -5z", x, y - 5);
    default:
      return fmt::format("M{:.1f} {:.1f}h3v3h3v3h-3v3h-3v-3h-3v-3h3z", x - 1.5, y - 4.5);
  }
}

std::string legend_item(int width, const std::string& content, const std::string& label) {
  return fmt::format(
      "<li><svg viewBox=\"0 0 {0} 14\" width=\"{0}\" height=\"14\" aria-hidden=\"true\">{1}</svg>"
      "{2}</li>",
      width, content, html_text(label));
}

// Tells whether labels of one height would overlap.
bool are_near(const EndLabel& a, const EndLabel& b) {
  constexpr double widest = 54;  // "14 011" in the margin on the right
  return std::abs(a.x - b.x) < widest;
}

// Moves labels that are near apart: upwards from the lowest, then down from the upper edge.
void move_apart(std::vector<EndLabel>& labels, double top) {
  constexpr double line_height = 13;
  std::ranges::sort(labels, std::ranges::greater{}, &EndLabel::y);
  for (size_t i = 0; i < labels.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (are_near(labels[i], labels[j]))
        labels[i].y = std::min(labels[i].y, labels[j].y - line_height);
  for (size_t i = labels.size(); i-- > 0;) {
    labels[i].y = std::max(labels[i].y, top);
    for (size_t j = i + 1; j < labels.size(); ++j)
      if (are_near(labels[i], labels[j]))
        labels[i].y = std::max(labels[i].y, labels[j].y + line_height);
  }
}

}  // namespace

std::string colour_class(int colour) {
  return colour < 0 ? "s-none" : fmt::format("s{}", colour % colours);
}

std::string marker(int colour, double x, double y, bool hollow) {
  return fmt::format("<path class=\"marker{}\" d=\"{}\"/>", hollow ? " hollow" : "",
                     shape(colour < 0 ? 0 : colour % 5, x, y));
}

std::string line_legend(int colour, LineStyle style, const std::string& label) {
  const char* name = style == LineStyle::ideal      ? "ideal"
                     : style == LineStyle::modelled ? "modelled"
                                                    : "measured";
  std::string shown =
      style == LineStyle::ideal ? "" : marker(colour, 15, 7, style == LineStyle::modelled);
  return legend_item(30,
                     fmt::format("<g class=\"{}\"><path class=\"{}\" d=\"M1 7H29\"/>{}</g>",
                                 colour_class(colour), name, shown),
                     label);
}

std::string box_legend(int colour, const std::string& label) {
  return legend_item(14,
                     fmt::format("<g class=\"{}\"><path class=\"part\" d=\"M1 1h12v12h-12z\"/></g>",
                                 colour_class(colour)),
                     label);
}

std::string curve_legend(int colour, bool with_marker, const std::string& label) {
  return legend_item(
      30,
      fmt::format("<g class=\"{}\"><path class=\"curve\" d=\"M1 7H29\"/>{}</g>",
                  colour_class(colour), with_marker ? marker(colour, 15, 7, false) : ""),
      label);
}

std::string end_labels_svg(std::vector<EndLabel> labels, double top) {
  move_apart(labels, top);
  std::string svg = "<g class=\"value\">";
  for (const EndLabel& label : labels)
    svg += svg_label(label.x + 9, label.y + 4, "start", label.text);
  return svg + "</g>";
}

std::string svg_label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor,
                     html_text(text));
}

}  // namespace spire::inline page
