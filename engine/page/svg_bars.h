// A chart of stacked horizontal bars, as an element <svg> that needs the page's style sheet.
#pragma once
#include <string>
#include <vector>

namespace spire::inline page {

struct StackedBar {
  std::string group;               // its heading stands above the first of neighbours that share it
  std::string label;               // left of the bar
  std::vector<double> parts = {};  // not negative
  std::string total = {};          // right of the bar
  std::vector<double> marks = {};  // at most two: 0 is a line across the bar, 1 a diamond
  std::vector<std::string> titles = {};  // of the parts and then the marks, for a pointer over them
};

struct BarChart {
  std::string title, description;         // for readers of screens, too
  std::string unit;                       // what stands beside the axis
  std::string (*text)(double) = nullptr;  // formats the ticks of the axis
  std::vector<std::string> parts = {};    // names of the parts of every bar
  std::vector<int> colours = {};          // of the parts (svg_marks.h)
  std::vector<StackedBar> bars = {};
};

// Plain texts are escaped. The height follows the number of bars.
std::string bar_chart(const BarChart& chart);

// Items of a legend, as elements <li>: the parts of a chart, and the two marks.
std::string parts_legend(const BarChart& chart);
std::string line_mark_legend(const std::string& label);
std::string diamond_mark_legend(const std::string& label);

}  // namespace spire::inline page
