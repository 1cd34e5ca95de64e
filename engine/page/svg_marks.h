// Small pieces of a drawing that charts and their legends share. Colours are classes "s0" to "s7"
// of the page's style sheet; a colour of no_colour is the neutral one.
#pragma once
#include <string>
#include <vector>

namespace spire::inline page {

inline constexpr int colours = 8, no_colour = -1;

enum class LineStyle { measured, ideal, modelled };

std::string colour_class(int colour);  // "s3"; numbers above 7 begin again; "s-none"

// A filled shape around a position, another one for each of five colours in a row; hollow for what
// was not measured.
std::string marker(int colour, double x, double y, bool hollow);

// An item of a legend, as an element <li>: a line with its marker, or a box. label: plain text.
std::string line_legend(int colour, LineStyle style, const std::string& label);
std::string curve_legend(int colour, bool with_marker, const std::string& label);
std::string box_legend(int colour, const std::string& label);

// The value beside the last point of a series, at its position.
struct EndLabel {
  double x = 0, y = 0;
  std::string text;  // plain
};
// Draws labels, apart from each other, below the height `top`.
std::string end_labels_svg(std::vector<EndLabel> labels, double top);

// Returns <text> with plain text at a position. anchor: "start", "middle", "end".
std::string svg_label(double x, double y, const char* anchor, const std::string& text);

}  // namespace spire::inline page
