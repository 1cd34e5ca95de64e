// Model that the config spells out as a list of layers. Parameters are named by the place of their
// layer: "0.conv2d.weight", "3.residual.1.conv2d.weight", "4.repeat.0.2.dense.weight".
#include <map>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "models/layer_builders.h"
#include "models/model.h"

namespace spire {
namespace {

// Returns a layer's `name` or `from`, "" for what is not given.
std::string link(const LayerConfig& layer, const char* key) {
  auto given = layer.values.find(key);
  auto text = given == layer.values.end() ? nullptr : std::get_if<std::string>(&given->second);
  return text != nullptr ? *text : "";
}

// Outputs in one list of layers that its layers, and those inside them, may take by name.
class LayerLinks {
 public:
  LayerLinks(const LayerLinks* outer, Value input)
      : outer_(outer), named_{{std::string(input_link), input}} {
    pass(input);
  }

  Value previous() const { return named_.at(std::string(previous_link)); }
  void pass(Value output) { named_[std::string(previous_link)] = output; }

  // Throws Error(config) for a name that is taken here or around this list.
  void add(const std::string& name, Value output) {
    if (find(name))
      fail(Category::config, "name: an earlier layer is '{}' already; take another name", name);
    named_[name] = output;
  }

  // Returns the outputs that a layer takes. Throws Error(config) for an unknown name.
  std::vector<Value> inputs_of(const LayerConfig& layer) const {
    std::string from = link(layer, "from");
    if (from.empty()) return {previous()};
    std::vector<Value> values;
    for (const std::string& name : names_in(from)) values.push_back(found(name));
    return values;
  }

 private:
  Value find(const std::string& name) const {
    if (auto known = named_.find(name); known != named_.end()) return known->second;
    return outer_ != nullptr ? outer_->find(name) : Value();
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all = outer_ != nullptr ? outer_->names() : std::vector<std::string>();
    for (const auto& [name, value] : named_)
      if (std::ranges::count(all, name) == 0) all.push_back(name);
    return all;
  }

  Value found(const std::string& name) const {
    if (Value value = find(name)) return value;
    std::vector<std::string> known = names();
    std::string near = nearest(name, known);
    fail(Category::config, "from: no layer before it is named '{}'{}", name,
         near.empty() ? fmt::format("; known are {}", fmt::join(known, ", ")) : did_you_mean(near));
  }

  const LayerLinks* outer_;
  std::map<std::string, Value> named_;
};

// Throws Error(config) for more inputs than the layer joins, or fewer.
void expect_inputs_of(const LayerConfig& layer, size_t count) {
  bool joins = layer.type == "concat" || layer.type == "add";
  if (joins && count < 2)
    fail(Category::config, "from: joins two or more outputs; list them, such as [{}, previous]",
         link(layer, "from"));
  if (!joins && count > 1)
    fail(Category::config,
         "from: takes one output, not {}; join them by concat or add, and take that one", count);
}

class LayersBuilder {
 public:
  LayersBuilder(Graph& graph, const ModelConfig& config, int64_t classes)
      : graph_(graph),
        sync_(config.batch_norm == ModelConfig::BatchNorm::sync),
        classes_(classes) {}

  // path: of the list, for messages; prefix: of its parameters' names; outer: of the layer that
  // holds the list.
  Value list(const std::vector<LayerConfig>& layers, Value x, const std::string& path,
             const std::string& prefix, const LayerLinks* outer = nullptr) const {
    LayerLinks links(outer, x);
    for (size_t i = 0; i < layers.size(); ++i) {
      const LayerConfig& layer = layers[i];
      std::string here = layer_path(path, i, layer.type);
      Value y = one(layer, links, here, fmt::format("{}{}.{}", prefix, i, layer.type));
      if (std::string name = link(layer, "name"); !name.empty())
        at(here, {y}, [&] { return links.add(name, y), y; });
      links.pass(y);
    }
    return links.previous();
  }

 private:
  Value one(const LayerConfig& layer, const LayerLinks& links, const std::string& path,
            const std::string& name) const {
    std::vector<Value> inputs;
    at(path, {links.previous()}, [&] {
      inputs = links.inputs_of(layer);
      return expect_inputs_of(layer, inputs.size()), inputs.front();
    });
    Value x = inputs.front();
    if (layer.type == "residual") return residual(layer, x, path, name, links);
    if (layer.type == "repeat") {
      for (int64_t time = 0; time < layer_value<int64_t>(layer, "times"); ++time)
        x = list(layer.layers, x, path + ".layers", fmt::format("{}.{}.", name, time), &links);
      return x;
    }
    return at(path, inputs, [&] {
      return build_layer({graph_, layer, name, inputs, sync_, classes_});
    });
  }

  // Adds the layer's place and the shapes of its inputs to the errors of `make`.
  template <typename Make>
  Value at(const std::string& path, const std::vector<Value>& inputs, Make make) const {
    try {
      return make();
    } catch (const Error& error) {
      std::vector<std::string> shapes;
      for (Value input : inputs) shapes.push_back(to_string(graph_.spec(input).shape));
      fail(error.category(), "{}: {}; its {} {}", path, error.what(),
           shapes.size() == 1 ? "input is" : "inputs are", fmt::join(shapes, " and "));
    }
  }

  Value residual(const LayerConfig& layer, Value x, const std::string& path,
                 const std::string& name, const LayerLinks& links) const {
    Graph::Block block(graph_, name);
    Value y = list(layer.layers, x, path + ".layers", name + ".", &links);
    return at(path, {x}, [&] {
      const std::string& kind = layer_value<std::string>(layer, "shortcut");
      bool same = graph_.spec(x).shape == graph_.spec(y).shape;
      bool project = kind == "projection" || (kind == "auto" && !same);
      if (!project && !same) {
        fail(Category::config, "its layers turn it into {}; use shortcut: auto",
             to_string(graph_.spec(y).shape));
      }
      return add(graph_, y, project ? projection(layer, x, y, name + ".shortcut") : x);
    });
  }

  // A 1x1 convolution of x to the shape of y, or a dense layer where neither is an image.
  Value projection(const LayerConfig& layer, Value x, Value y, const std::string& name) const {
    const Shape &from = graph_.spec(x).shape, &to = graph_.spec(y).shape;
    int64_t channels = to.back();
    if (from.rank() != 4 || to.rank() != 4)
      return dense(graph_, name, x, channels, false, init::linear_uniform(from.back()));
    Extent2d a = extent_of(from), b = extent_of(to);
    Value z = conv2d(graph_, name + ".conv", x,
                     {.channels = channels,
                      .kernel = {1, 1},
                      .stride = {(a.h + b.h - 1) / b.h, (a.w + b.w - 1) / b.w},
                      .bias = false,
                      .initialize = init::kaiming_normal(channels)});
    if (layer_value<std::string>(layer, "norm") == "none") return z;
    return batch_norm(graph_, name + ".norm", z, {.sync = sync_});
  }

  Graph& graph_;
  bool sync_;
  int64_t classes_;
};

}  // namespace

Value layers_model(Graph& graph, Value input, const ModelConfig& config, int64_t classes) {
  check_layers(config.layers, "model.layers");
  return LayersBuilder(graph, config, classes).list(config.layers, input, "model.layers", "");
}

namespace {

// Returns the rank of a sample behind a list of layers. named: ranks of the outputs that may be
// taken by name, those of the lists around it.
int rank_behind(const std::vector<LayerConfig>& layers, int rank,
                std::map<std::string, int> named) {
  named[std::string(input_link)] = rank;
  for (const LayerConfig& layer : layers) {
    named[std::string(previous_link)] = rank;
    std::string from = link(layer, "from");
    if (!from.empty() && named.contains(names_in(from).front()))
      rank = named.at(names_in(from).front());
    if (!layer.layers.empty()) rank = rank_behind(layer.layers, rank, named);
    if (layer.type == "flatten" || layer.type == "global_avg_pool" ||
        link(layer, "output") == "last")
      rank = 1;
    if (layer.type == "reshape")
      rank = static_cast<int>(layer_value<std::vector<int64_t>>(layer, "shape").size());
    named[link(layer, "name")] = rank;
  }
  return rank;
}

}  // namespace

bool layers_make_images(const std::vector<LayerConfig>& layers, const Shape& sample) {
  return sample.rank() == 3 && rank_behind(layers, 3, {}) == 3;
}

}  // namespace spire
