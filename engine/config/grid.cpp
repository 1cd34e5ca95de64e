#include "engine/config/grid.h"

#include <algorithm>

#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/schema.h"
#include "engine/config/text.h"

namespace spire {
namespace {

// Returns the node as YAML on one line, as an override has it. A quoted word stays one.
std::string one_line(const YAML::Node& node) {
  std::vector<std::string> parts;
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) parts.push_back(one_line(item));
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
  if (node.IsMap()) {
    for (const auto& entry : node)
      parts.push_back(one_line(entry.first) + ": " + one_line(entry.second));
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
  }
  if (node.IsNull()) return "null";
  bool quoted = node.Tag() == "!";
  return quoted ? yaml_word(node.Scalar()) : node.Scalar();
}

[[noreturn]] void refuse(const ConfigText& text, const YAML::Mark& mark, const std::string& why) {
  // An empty text has no place.
  fail(Category::config, "{}:{}:{}: {}", text.name, std::max(mark.line, 0) + 1,
       std::max(mark.column, 0) + 1, why);
}

YAML::Node load(const ConfigText& text) {
  try {
    return YAML::Load(text.text);
  } catch (const YAML::Exception& error) {
    refuse(text, error.mark, error.msg);
  }
}

}  // namespace

// A text that is no YAML list is one value: the config's reader then says what is wrong with it.
std::vector<std::string> grid_values(const std::string& text) {
  std::vector<std::string> values;
  try {
    YAML::Node list = YAML::Load("[" + text + "]");
    if (!list.IsSequence()) return {text};
    for (const YAML::Node& node : list) values.push_back(one_line(node));
  } catch (const YAML::Exception&) {
    return {text};
  }
  return values.size() > 1 ? values : std::vector<std::string>{text};
}

std::vector<GridAxis> read_grid(const ConfigText& text) {
  YAML::Node root = load(text);
  if (!root.IsMap() || root.size() == 0)
    refuse(text, root.Mark(), "expected config keys, each with a list: optimizer.lr: [0.1, 0.05]");
  std::vector<GridAxis> axes;
  for (const auto& entry : root) {
    if (!entry.first.IsScalar()) refuse(text, entry.first.Mark(), "expected a config key");
    GridAxis axis{entry.first.Scalar(), {}};
    if (!entry.second.IsSequence() || entry.second.size() == 0)
      refuse(text, entry.second.Mark(),
             fmt::format("{0}: expected a list of values: {0}: [A, B]", axis.key));
    if (std::ranges::count(axes, axis.key, &GridAxis::key) > 0)
      refuse(text, entry.first.Mark(), axis.key + ": is there twice");
    for (const YAML::Node& node : entry.second) axis.values.push_back(one_line(node));
    axes.push_back(std::move(axis));
  }
  return axes;
}

void check_axis(const GridAxis& axis, const std::vector<std::string>& refused) {
  if (find_field(axis.key) == nullptr)
    fail(Category::config, "{}: unknown key{}", axis.key, did_you_mean(nearest_key(axis.key)));
  if (std::ranges::count(refused, axis.key) > 0)
    fail(Category::config, "{}: cannot be an axis of a grid: the sweep sets it for each run",
         axis.key);
  for (const std::string& value : axis.values)
    if (std::ranges::count(axis.values, value) > 1)
      fail(Category::config, "{}: {} is there twice, which would be the same run", axis.key, value);
}

size_t grid_size(const std::vector<GridAxis>& axes) {
  size_t size = 1;
  for (const GridAxis& axis : axes) size *= axis.values.size();
  return size;
}

std::vector<std::string> grid_point(const std::vector<GridAxis>& axes, size_t index) {
  std::vector<std::string> words(axes.size());
  for (size_t a = axes.size(); a-- > 0;) {
    const GridAxis& axis = axes[a];
    words[a] = axis.key + "=" + axis.values[index % axis.values.size()];
    index /= axis.values.size();
  }
  return words;
}

}  // namespace spire
