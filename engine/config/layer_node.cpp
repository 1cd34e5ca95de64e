// Reads model.layers from YAML. All problems are collected, each with its line and column.
#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/scalar.h"
#include "engine/config/synonyms.h"
#include "engine/config/value.h"

namespace spire {

namespace {

constexpr size_t max_layer_problems = 300;

bool is_word(const LayerKey& key, const YAML::Node& node) {
  return node.IsScalar() && std::ranges::count(key.words, node.Scalar()) > 0;
}

// Reads a number; the error names the words that are allowed instead.
template <typename T>
T read_number(const LayerKey& key, const YAML::Node& node) {
  try {
    return read(node, T{});
  } catch (const Error& error) {
    if (key.words.empty() || !node.IsScalar()) throw;
    fail(Category::config, "{}; also allowed: {}{}", error.what(), fmt::join(key.words, ", "),
         did_you_mean(nearest(node.Scalar(), key.words)));
  }
}

// Reads 3 or [3, 5]; two equal integers become one.
std::vector<int64_t> read_extent(const LayerKey& key, const YAML::Node& node) {
  if (!node.IsSequence()) return {read_number<int64_t>(key, node)};
  auto extents = read(node, std::vector<int64_t>());
  if (extents.size() != 2)
    fail(Category::config, "expected one integer, or two as [height, width], got {} integers",
         extents.size());
  if (extents[0] == extents[1]) extents.pop_back();
  return extents;
}

// Reads a name, or a list of them as one text.
std::string read_names(const YAML::Node& node) {
  return fmt::format("{}", fmt::join(read(node, std::vector<std::string>()), ", "));
}

// A word that the key allows wins over its kind, as in `units: classes`.
LayerValue read_value(const LayerKey& key, const YAML::Node& node) {
  if (is_word(key, node)) return node.Scalar();
  switch (key.kind) {
    case LayerKind::boolean:
      return read(node, bool{});
    case LayerKind::integer:
      return read_number<int64_t>(key, node);
    case LayerKind::number:
      return read_number<double>(key, node);
    case LayerKind::word:
    case LayerKind::name:
      return read(node, std::string());
    case LayerKind::names:
      return read_names(node);
    case LayerKind::extent:
      return read_extent(key, node);
    case LayerKind::integers:
      return read(node, std::vector<int64_t>());
  }
  return {};
}

// Reads nested lists of layers. A layer with a problem is left out of its list.
class LayerReader {
 public:
  std::vector<LayerConfig> list(const YAML::Node& node, const std::string& path, int depth);
  std::vector<NodeProblem> problems;

 private:
  void layer(const YAML::Node& node, const std::string& list, size_t index, int depth,
             std::vector<LayerConfig>& layers);
  void keys(const YAML::Node& map, const std::string& path, const LayerType& type, int depth,
            LayerConfig& layer);
  void short_form(const YAML::Node& node, const std::string& path, const LayerType& type, int depth,
                  LayerConfig& layer);
  void value(const LayerKey& key, const YAML::Node& node, const std::string& path,
             LayerConfig& layer);
  void report(const YAML::Mark& mark, const std::string& path, std::string text) {
    if (problems.size() < max_layer_problems) problems.push_back({mark, path, std::move(text)});
  }

  int64_t seen_ = 0;  // YAML aliases may expand few bytes to many layers
};

// Stops at a depth and at a number of layers: by an alias a list may contain itself, or a short
// text be millions of layers.
std::vector<LayerConfig> LayerReader::list(const YAML::Node& node, const std::string& path,
                                           int depth) {
  std::vector<LayerConfig> layers;
  if (node.IsNull()) {
    report(node.Mark(), path, "the value is missing; expected a list of layers");
  } else if (!node.IsSequence()) {
    report(node.Mark(), path, fmt::format("expected a list of layers, got {}", describe(node)));
  } else if (depth > max_layer_depth) {
    report(
        node.Mark(), path,
        fmt::format("layers are nested more than {} lists deep; nest them less", max_layer_depth));
  } else {
    for (size_t i = 0; i < node.size() && problems.size() < max_layer_problems; ++i) {
      if (++seen_ > max_layers) {
        if (seen_ == max_layers + 1)
          report(node.Mark(), path, fmt::format("more than {} layers; use fewer", max_layers));
        break;
      }
      layer(node[i], path, i, depth, layers);
    }
  }
  return layers;
}

// Reads one layer: a word, or a map of one key, which names the layer.
void LayerReader::layer(const YAML::Node& node, const std::string& list, size_t index, int depth,
                        std::vector<LayerConfig>& layers) {
  std::string here = layer_path(list, index);
  bool map = node.IsMap() && node.size() == 1;
  YAML::Node name = map ? node.begin()->first : node;
  if (!name.IsScalar()) {
    std::string got = node.IsMap() ? fmt::format("a map of {} keys", node.size()) : describe(node);
    return report(
        node.Mark(), here,
        fmt::format("expected one layer, such as relu or conv2d: {{channels: 32}}, got {}; "
                    "indent a layer's keys below its name",
                    got));
  }
  LayerConfig layer{.type = name.Scalar()};
  const LayerType* type = find_layer_type(layer.type);
  if (type == nullptr) return report(name.Mark(), here, layer_problem(layer));
  here += "." + layer.type;
  size_t before = problems.size();
  if (map) keys(node.begin()->second, here, *type, depth, layer);
  // Reports missing keys only where the given ones are good.
  if (problems.size() > before) return;
  if (std::string text = layer_problem(layer); !text.empty())
    return report(name.Mark(), here, text);
  layers.push_back(std::move(layer));
}

// Reads the value of the main key alone, or of a holder its layers.
void LayerReader::short_form(const YAML::Node& node, const std::string& path, const LayerType& type,
                             int depth, LayerConfig& layer) {
  if (type.holds_layers && node.IsSequence()) {
    layer.layers = list(node, path + ".layers", depth + 1);
  } else if (const LayerKey* key = main_key(type)) {
    value(*key, node, path + "." + key->name, layer);
  } else {
    report(node.Mark(), path,
           fmt::format("expected a map of the layer's keys, got {}", describe(node)));
  }
}

// Reads the keys of one layer: inner layers, values, or mistakes.
void LayerReader::keys(const YAML::Node& map, const std::string& path, const LayerType& type,
                       int depth, LayerConfig& layer) {
  if (map.IsNull()) return;
  if (!map.IsMap()) return short_form(map, path, type, depth, layer);
  std::set<std::string> seen;
  for (const auto& entry : map) {
    if (!entry.first.IsScalar()) {
      report(entry.first.Mark(), path,
             fmt::format("expected the name of a key, got {}", describe(entry.first)));
      continue;
    }
    const std::string& name = entry.first.Scalar();
    std::string here = path + "." + excerpt(name);
    const LayerKey* key = find_layer_key(type, name);
    // yaml-cpp keeps both entries of a key that is given twice.
    if (!seen.insert(name).second) {
      report(entry.first.Mark(), here, "given twice; remove one of them");
    } else if (name == "layers" && type.holds_layers) {
      layer.layers = list(entry.second, here, depth + 1);
    } else if (key != nullptr) {
      value(*key, entry.second, here, layer);
    } else {
      std::vector<std::string> known;
      for (const LayerKey& each : type.keys) known.push_back(each.name);
      if (type.holds_layers) known.emplace_back("layers");
      for (const LayerKey& each : link_keys())
        if (std::ranges::count(known, each.name) == 0) known.push_back(each.name);
      std::string near = meant_word(SynonymGroup::layer_keys, name, known);
      report(entry.first.Mark(), here,
             near.empty() ? fmt::format("unknown key; must be one of: {}", fmt::join(known, ", "))
                          : "unknown key" + did_you_mean(near));
    }
  }
}

// Leaves out a value that equals the default, so that equal layers have equal configs.
void LayerReader::value(const LayerKey& key, const YAML::Node& node, const std::string& path,
                        LayerConfig& layer) {
  try {
    LayerValue value = read_value(key, node);
    check_layer_value(key, value);
    if (key.fallback != value) layer.values[key.name] = std::move(value);
  } catch (const Error& error) {
    report(node.Mark(), path, error.what());
  }
}

std::string first_problem(const std::vector<NodeProblem>& all) {
  require(!all.empty(), "no problem");
  return fmt::format("{}: {}", all.front().path, all.front().text);
}

}  // namespace

NodeProblems::NodeProblems(std::vector<NodeProblem> all)
    : Error(Category::config, first_problem(all)), all_(std::move(all)) {}

// Walks as LayerReader does, but without checks, since the list is known to be good.
std::vector<std::pair<std::string, YAML::Mark>> layer_marks(const YAML::Node& list,
                                                            const std::string& path) {
  std::vector<std::pair<std::string, YAML::Mark>> marks;
  for (size_t i = 0; i < list.size(); ++i) {
    YAML::Node node = list[i];
    bool map = node.IsMap();
    std::string type = map ? node.begin()->first.Scalar() : node.Scalar();
    marks.emplace_back(layer_path(path, i, type), node.Mark());
    if (!map) continue;
    YAML::Node keys = node.begin()->second;
    YAML::Node inner = keys.IsMap() ? keys["layers"] : keys;
    if (!find_layer_type(type)->holds_layers || !inner.IsDefined()) continue;
    auto inside = layer_marks(inner, marks.back().first + ".layers");
    marks.insert(marks.end(), inside.begin(), inside.end());
  }
  return marks;
}

std::vector<LayerConfig> read(const YAML::Node& node, const std::vector<LayerConfig>&) {
  const std::string path = "model.layers";
  LayerReader reader;
  std::vector<LayerConfig> layers = reader.list(node, path, 1);
  // A nested `repeat` multiplies layers that were read once.
  if (reader.problems.empty() && count_layers(layers) > max_layers)
    reader.problems.push_back(
        {node.Mark(), path,
         fmt::format("more than {} layers, counting repeated ones; use fewer", max_layers)});
  if (!reader.problems.empty()) throw NodeProblems(std::move(reader.problems));
  return layers;
}

}  // namespace spire
