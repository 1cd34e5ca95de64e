#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "engine/base/fail.h"
#include "engine/weights/names/known_names.h"

namespace spire {
namespace {

// Ops that treat each feature apart, or all alike: the order goes through them.
constexpr std::array feature_wise = {
    "relu", "leaky_relu", "gelu",    "gelu_tanh",       "silu",       "sigmoid", "tanh", "add",
    "mul",  "bias",       "dropout", "batch_norm_eval", "layer_norm", "rms_norm"};

bool is_feature_wise(const Node& node) {
  return std::ranges::find(feature_wise, node.op->name()) != feature_wise.end();
}

bool is_view(const Node& node) {
  return node.op->name() == "flatten" || node.op->name() == "reshape";
}

// Follows the orders of features (N, F) through a graph.
class Orders {
 public:
  explicit Orders(const Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes())
      if (views_images(node)) follow_view(node);
    while (changed_) {
      changed_ = false;
      for (const Node& node : graph.nodes())
        if (is_feature_wise(node) || is_identity(node)) follow_features(node);
    }
  }

  // Collects the orders of parameters, and refuses features whose order goes elsewhere.
  std::map<std::string, FeatureOrder> of_parameters() const {
    std::map<std::string, FeatureOrder> orders;
    for (const auto& [id, extents] : of_value_)
      if (graph_.tensor(Value{id}).role == Role::input)
        fail_order("the data's features are an image in the order H, W, C");
    for (const Node& node : graph_.nodes()) {
      if (node.op->name() == "dense") {
        if (auto order = find(node.inputs[0])) orders[name(node.inputs[1])].columns = order;
        if (auto order = find(node.outputs[0]))
          for (size_t i = 1; i < node.inputs.size(); ++i) orders[name(node.inputs[i])].rows = order;
      } else if (is_feature_wise(node)) {
        collect_vectors(node, orders);
      } else if (!views_images(node) && !is_identity(node)) {
        for (Value value : node.inputs)
          if (find(value))
            fail_order(fmt::format("[{}] reads pixels in the order H, W, C", node.op->name()));
      }
    }
    return orders;
  }

 private:
  const Shape& shape(Value value) const { return graph_.spec(value).shape; }
  const std::string& name(Value value) const { return graph_.tensor(value).name; }
  bool is_parameter(Value value) const {
    Role role = graph_.tensor(value).role;
    return role == Role::parameter || role == Role::state;
  }
  bool views_images(const Node& node) const {
    return is_view(node) &&
           (shape(node.inputs[0]).rank() == 4 || shape(node.outputs[0]).rank() == 4);
  }
  bool is_identity(const Node& node) const {
    return is_view(node) && shape(node.inputs[0]) == shape(node.outputs[0]);
  }
  std::optional<PixelExtents> find(Value value) const {
    auto found = of_value_.find(value.id);
    return found == of_value_.end() ? std::nullopt : std::optional(found->second);
  }

  [[noreturn]] static void fail_order(const std::string& why) {
    fail(Category::config,
         "{}; a model with images in the order C, H, W has no counterpart of that: use the names "
         "of Spire's own layout (names: spire)",
         why);
  }

  void set(Value value, PixelExtents extents) {
    auto [place, added] = of_value_.try_emplace(value.id, extents);
    if (!added && place->second != extents)
      fail_order("features are pixels of two images of other extents");
    changed_ = changed_ || added;
  }

  // An image (N, H, W, C) and features (N, F) that are views of each other give these their order.
  void follow_view(const Node& node) {
    Value from = node.inputs[0], to = node.outputs[0];
    if (is_parameter(from)) return;
    const Shape &a = shape(from), &b = shape(to);
    bool tokens = a.rank() > 2 && b.rank() > 2 && a.back() == b.back();  // channels stay channels
    if (tokens || a == b) return;
    if (a.rank() != 2 && b.rank() != 2)
      fail_order(fmt::format("a reshape turns {} into {}", to_string(a), to_string(b)));
    const Shape& image = a.rank() == 4 ? a : b;
    PixelExtents extents{image[1], image[2], image[3]};
    if (extents.c > 1 && extents.h * extents.w > 1) set(a.rank() == 4 ? to : from, extents);
  }

  void follow_features(const Node& node) {
    std::vector<Value> same;
    const Shape& features = shape(node.outputs[0]);
    for (Value value : node.inputs)
      if (!is_parameter(value) && shape(value) == features) same.push_back(value);
    same.push_back(node.outputs[0]);
    for (Value from : same) {
      auto order = find(from);
      if (!order) continue;
      for (Value to : same) set(to, *order);
      return;
    }
  }

  // Gamma, beta, statistics and biases of features.
  void collect_vectors(const Node& node, std::map<std::string, FeatureOrder>& orders) const {
    auto order = find(node.outputs[0]);
    if (!order) return;
    for (Value value : node.inputs) {
      if (is_parameter(value)) {
        orders[name(value)].rows = order;
      } else if (shape(value) != shape(node.outputs[0])) {
        fail_order(fmt::format("[{}] combines pixels in the order H, W, C with {}", node.op->name(),
                               to_string(shape(value))));
      }
    }
  }

  const Graph& graph_;
  std::map<int, PixelExtents> of_value_;
  bool changed_ = true;
};

}  // namespace

std::map<std::string, FeatureOrder> feature_orders(const Graph& graph) {
  return Orders(graph).of_parameters();
}

TensorPart channels_first(const std::string& name, const Shape& shape, const FeatureOrder& order) {
  TensorPart part{.name = name, .shape = shape};
  if (!order.rows && !order.columns) return part;
  std::vector<int64_t> view;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto& pixels = axis == 0 ? order.rows : order.columns;
    auto first = static_cast<int>(view.size());
    if (pixels) {
      view.insert(view.end(), {pixels->c, pixels->h, pixels->w});
      part.axes.insert(part.axes.end(), {first + 1, first + 2, first});
    } else {
      view.push_back(shape[axis]);
      part.axes.push_back(first);
    }
  }
  part.view = Shape(view);
  return part;
}

}  // namespace spire
