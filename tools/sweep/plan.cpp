#include "tools/sweep/plan.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/config/check.h"
#include "engine/config/devices.h"
#include "engine/config/grid.h"
#include "engine/config/scalar.h"
#include "engine/config/schema.h"
#include "engine/config/text.h"

namespace spire {

namespace {

using Words = std::vector<std::string>;

constexpr size_t most_points = 100'000, longest_name = 100;
const Words set_by_sweep = {"output", "devices", "parameter_device"};

// "02-lr=0.05-hidden=64-32": brackets, quotes and blanks are left out, other awkward letters become
// dashes.
std::string point_name(const std::vector<GridAxis>& axes, const Words& values, size_t index,
                       size_t count) {
  std::string text;
  for (size_t a = 0; a < axes.size(); ++a)
    text += fmt::format("-{}={}", leaf_of(axes[a].key), values[a]);
  std::string name = fmt::format("{:0{}}", index + 1, std::to_string(count).size());
  for (char c : text) {
    bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain || std::string_view(".=_+").find(c) != std::string_view::npos) {
      name += c;
    } else if (std::string_view("[]{}\"' ").find(c) == std::string_view::npos) {
      name += '-';
    }
  }
  return name.substr(0, longest_name);
}

// As many as the config's devices: one of `cuda` or `auto`, as a run of the sweep has one device.
int64_t settled_towers(RunConfig config) {
  Words words = expand_devices(config.devices);
  auto group = gpu_group(words[0]);
  int64_t named = words == Words{"auto"} ? 1 : std::ssize(words);
  settle_batch(config, group ? group->count.value_or(1) : named);
  return *config.towers;
}

int64_t settled_threads(const RunConfig& config, int64_t towers,
                        const std::vector<SweepSlot>& slots) {
  if (config.tower_threads) return *config.tower_threads;
  if (slots.front().device.kind == DeviceKind::cuda) return 1;
  int64_t fewest = std::ssize(slots.front().cores);
  for (const SweepSlot& slot : slots) fewest = std::min(fewest, std::ssize(slot.cores));
  return std::max<int64_t>(1, fewest / towers);
}

void refuse_equal_points(const std::vector<SweepPoint>& points) {
  std::map<std::string, const SweepPoint*> known;
  for (const SweepPoint& point : points) {
    auto [first, added] = known.try_emplace(to_yaml(point.resolved.config), &point);
    if (!added)
      fail(Category::config, "the points {} and {} are the same run; leave one value out",
           first->second->name, point.name);
  }
}

// A resumed run keeps the first of these and may change `eval`, but then its best is another.
bool shapes_table(const Field& field) {
  static const Words kept = {"seed", "towers", "batch_size", "global_batch", "tower_threads"};
  return field.shapes_result || std::ranges::count(kept, field.path) > 0 ||
         section_of(field.path) == "eval";
}

void compare_fields(const SweepPoint& there, const SweepPoint& here, Words& lines) {
  for (const Field& field : schema()) {
    if (!shapes_table(field)) continue;
    std::string before = value_text(field, there.resolved.config);
    std::string now = value_text(field, here.resolved.config);
    std::string line = fmt::format("{}: {} in the folder, {} now", field.path, before, now);
    if (before != now && std::ranges::count(lines, line) == 0) lines.push_back(line);
  }
}

// The config of a point, and the words KEY=VALUE that set it apart.
struct PointConfig {
  ResolvedConfig resolved;
  Words words;
};

PointConfig point_config(const SweepRequest& request, size_t index) {
  Words words = grid_point(request.axes, index), overrides = request.overrides;
  overrides.insert(overrides.end(), words.begin(), words.end());
  return {parse_config(request.configs, overrides), words};
}

}  // namespace

SweepRequest read_sweep_request(const Words& configs, const Words& words,
                                const std::string& grid_file) {
  SweepRequest request;
  for (const std::string& file : configs) request.configs.push_back(read_config_file(file));
  if (!grid_file.empty())
    request.axes = read_grid({grid_file, read_stream(grid_file, Category::config, 1 << 20)});
  for (const std::string& word : words) {
    size_t equals = word.find('=');
    GridAxis axis{word.substr(0, equals), grid_values(word.substr(equals + 1))};
    bool constant = axis.values.size() < 2 || std::ranges::count(set_by_sweep, axis.key) > 0;
    if (constant) {
      request.overrides.push_back(word);
    } else if (std::ranges::count(request.axes, axis.key, &GridAxis::key) > 0) {
      fail(Category::config, "{}: is an axis of the grid twice", axis.key);
    } else {
      request.axes.push_back(std::move(axis));
    }
  }
  if (request.axes.empty())
    fail(Category::config,
         "there is no grid; give a key several values: optimizer.lr=0.1,0.05, or --grid FILE");
  for (const GridAxis& axis : request.axes) check_axis(axis, set_by_sweep);
  return request;
}

RunConfig first_config(const SweepRequest& request) {
  return point_config(request, 0).resolved.config;
}

std::vector<SweepPoint> sweep_points(const SweepRequest& request,
                                     const std::vector<SweepSlot>& slots) {
  size_t count = grid_size(request.axes);
  if (count == 0) fail(Category::config, "the grid has no point: an axis of it has no value");
  if (slots.empty()) fail(Category::config, "a sweep without a slot has nowhere to train");
  if (count > most_points)
    fail(Category::config, "the grid has {} points; at most {} are allowed", count, most_points);
  std::vector<SweepPoint> points;
  for (size_t i = 0; i < count; ++i) {
    auto [resolved, words] = point_config(request, i);
    SweepPoint point;
    point.resolved = std::move(resolved);
    for (const std::string& word : words) point.values.push_back(word.substr(word.find('=') + 1));
    point.name = point_name(request.axes, point.values, i, count);
    point.towers = settled_towers(point.resolved.config);
    point.tower_threads = settled_threads(point.resolved.config, point.towers, slots);
    points.push_back(std::move(point));
  }
  refuse_equal_points(points);
  return points;
}

void refuse_shared_ports(const std::vector<SweepPoint>& points,
                         const std::vector<SweepSlot>& slots) {
  if (slots.size() < 2) return;
  std::map<int, const SweepPoint*> taken;
  for (const SweepPoint& point : points) {
    const auto& monitor = point.resolved.config.monitor;
    for (auto [key, text] : {std::pair<const char*, std::string>{"prometheus", monitor.prometheus},
                             {"serve", monitor.serve}}) {
      auto address = parse_listen_address(text);
      if (!address || address->port == 0) continue;
      auto [first, added] = taken.try_emplace(address->port, &point);
      if (added || first->second == &point) continue;
      fail(Category::config,
           "monitor.{}: {}, but {} runs of a sweep are under way at a time, and one alone can have "
           "port {}; set port 0, which takes any free one, or --jobs 1",
           key, text, std::min(slots.size(), points.size()), address->port);
    }
  }
}

ResolvedConfig sweep_config(const SweepSlot& slot, const SweepPoint& point,
                            const std::string& output) {
  ResolvedConfig resolved = point.resolved;
  RunConfig& config = resolved.config;
  config.output = output;
  config.devices = {slot.word()};
  config.on_missing = RunConfig::OnMissing::fail;  // it trains on its slot, or not at all
  if (config.parameter_device != "cpu") config.parameter_device = "auto";
  config.towers = point.towers;
  config.tower_threads = point.tower_threads;
  for (const char* key :
       {"output", "devices", "on_missing", "parameter_device", "towers", "tower_threads"})
    resolved.source[key] = "sweep";
  return resolved;
}

Words sweep_differences(const std::vector<SweepPoint>& there, const std::vector<SweepPoint>& here) {
  Words lines;
  auto names = [](const std::vector<SweepPoint>& points) {
    Words all;
    for (const SweepPoint& point : points) all.push_back(point.name);
    return all;
  };
  if (there.size() != here.size()) {
    lines.push_back(fmt::format("{} points in the folder, {} now", there.size(), here.size()));
  } else if (names(there) != names(here)) {
    for (size_t i = 0; i < here.size(); ++i)
      if (there[i].name != here[i].name)
        lines.push_back(fmt::format("{} in the folder, {} now", there[i].name, here[i].name));
  } else {
    for (size_t i = 0; i < here.size(); ++i) compare_fields(there[i], here[i], lines);
  }
  return lines;
}

}  // namespace spire
