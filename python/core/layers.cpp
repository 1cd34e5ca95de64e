// The layer functions of layers.h as functions of the module spire.layers.
#include <variant>

#include <nanobind/stl/variant.h>

#include <spire/layers.h>

#include "python/core/graph.h"

namespace spire::python {
namespace {

using nb::arg;
using Extent = std::variant<int64_t, std::pair<int64_t, int64_t>>;  // both sides, or (h, w)

Extent2d extent(const Extent& given) {
  if (const auto* side = std::get_if<int64_t>(&given)) return {*side, *side};
  auto [h, w] = std::get<1>(given);
  return {h, w};
}

LentValue result(const LentValue& x, Value value) {
  return {x.graph, value};
}

// Binds a layer of one input and no options.
void bind_simple(nb::module_& layers, const char* name, Value (*layer)(Graph&, Value),
                 const char* help) {
  layers.def(
      name,
      [layer](LentGraph& g, const LentValue& x) {
        return result(x, layer(g.get(), x.value_in(g)));
      },
      arg("graph"), arg("x"), help);
}

void bind_pair(nb::module_& layers, const char* name, Value (*layer)(Graph&, Value, Value),
               const char* help) {
  layers.def(
      name,
      [layer](LentGraph& g, const LentValue& a, const LentValue& b) {
        return result(a, layer(g.get(), a.value_in(g), b.value_in(g)));
      },
      arg("graph"), arg("a"), arg("b"), help);
}

void bind_pool(nb::module_& layers, const char* name,
               Value (*layer)(Graph&, Value, const PoolOptions&)) {
  layers.def(
      name,
      [layer](LentGraph& g, const LentValue& x, const Extent& kernel, std::optional<Extent> stride,
              const Extent& padding) {
        PoolOptions options{extent(kernel), extent(stride.value_or(kernel)), extent(padding)};
        return result(x, layer(g.get(), x.value_in(g), options));
      },
      arg("graph"), arg("x"), arg("kernel") = 2, arg("stride") = nb::none(), arg("padding") = 0,
      "Pools images (N, H, W, C); stride: default: the kernel.");
}

void bind_weighted(nb::module_& layers) {
  layers.def(
      "conv2d",
      [](LentGraph& g, const std::string& name, const LentValue& x, int64_t channels,
         const Extent& kernel, const Extent& stride, const Extent& padding, const Extent& dilation,
         int64_t groups, bool bias) {
        Conv2dOptions options{channels,         extent(kernel), extent(stride), extent(padding),
                              extent(dilation), groups,         bias,           {}};
        return result(x, conv2d(g.get(), name, x.value_in(g), options));
      },
      arg("graph"), arg("name"), arg("x"), arg("channels"), arg("kernel") = 3, arg("stride") = 1,
      arg("padding") = 0, arg("dilation") = 1, arg("groups") = 1, arg("bias") = true,
      "Convolution of images (N, H, W, C); extents are one number, or (height, width).");
  layers.def(
      "dense",
      [](LentGraph& g, const std::string& name, const LentValue& x, int64_t units, bool bias) {
        return result(x, dense(g.get(), name, x.value_in(g), units, bias));
      },
      arg("graph"), arg("name"), arg("x"), arg("units"), arg("bias") = true,
      "x (.., K) -> (.., units).");
  layers.def(
      "embedding",
      [](LentGraph& g, const std::string& name, const LentValue& ids, int64_t vocabulary,
         int64_t width, double deviation) {
        Embedding made = embedding(g.get(), name, ids.value_in(g), vocabulary, width,
                                   g.get().compute_dtype(), normal(deviation));
        return std::pair(result(ids, made.output), result(ids, made.table));
      },
      arg("graph"), arg("name"), arg("ids"), arg("vocabulary"), arg("width"),
      arg("deviation") = 0.02,
      "ids (..) -> (output (.., width), table); the table may be the weight of tied_dense().");
  bind_pair(
      layers, "tied_dense", [](Graph& g, Value table, Value x) { return tied_dense(g, table, x); },
      "a: the table (V, K) of an embedding; b (.., K) -> (.., V).");
  layers.def(
      "position_embedding",
      [](LentGraph& g, const std::string& name, const LentValue& x, double deviation) {
        return result(x, position_embedding(g.get(), name, x.value_in(g), normal(deviation)));
      },
      arg("graph"), arg("name"), arg("x"), arg("deviation") = 0.02,
      "Adds a weight (T, C) to x (N, T, C).");
  layers.def(
      "batch_norm",
      [](LentGraph& g, const std::string& name, const LentValue& x, float epsilon, float momentum,
         bool sync) {
        BatchNormOptions options{epsilon, momentum, 1.0f, sync};
        return result(x, batch_norm(g.get(), name, x.value_in(g), options));
      },
      arg("graph"), arg("name"), arg("x"), arg("epsilon") = 1e-5f, arg("momentum") = 0.1f,
      arg("sync") = false, "sync: statistics over the whole global batch, not one tower's.");
  layers.def(
      "layer_norm",
      [](LentGraph& g, const std::string& name, const LentValue& x, float epsilon) {
        return result(x, layer_norm(g.get(), name, x.value_in(g), epsilon));
      },
      arg("graph"), arg("name"), arg("x"), arg("epsilon") = 1e-5f, "Over the last axis.");
}

void bind_functions(nb::module_& layers) {
  bind_simple(layers, "relu", relu, "max(x, 0)");
  bind_simple(layers, "gelu", gelu, "x times the normal distribution's function of x.");
  bind_simple(layers, "gelu_tanh", gelu_tanh, "The tanh approximation of gelu, as in GPT-2.");
  bind_simple(layers, "sigmoid", sigmoid, "1 / (1 + exp(-x))");
  bind_simple(layers, "tanh", tanh, "Hyperbolic tangent.");
  bind_simple(layers, "flatten", flatten, "(N, ..) -> (N, features), in the order H, W, C.");
  bind_simple(layers, "global_avg_pool", global_avg_pool, "(N, H, W, C) -> (N, C)");
  bind_pool(layers, "max_pool2d", max_pool2d);
  bind_pool(layers, "avg_pool2d", avg_pool2d);
  bind_pair(layers, "add", add, "a + b");
  bind_pair(layers, "mul", mul, "a * b, element by element.");
  bind_pair(layers, "matmul", matmul, "a (.., M, K), b (.., K, N) -> (.., M, N)");
  layers.def(
      "leaky_relu",
      [](LentGraph& g, const LentValue& x, float slope) {
        return result(x, leaky_relu(g.get(), x.value_in(g), slope));
      },
      arg("graph"), arg("x"), arg("slope") = 0.01f, "x, and slope * x below 0.");
  layers.def(
      "dropout",
      [](LentGraph& g, const LentValue& x, float rate) {
        return result(x, dropout(g.get(), x.value_in(g), rate));
      },
      arg("graph"), arg("x"), arg("rate"), "Returns x in evaluation.");
  layers.def(
      "attention",
      [](LentGraph& g, const LentValue& qkv, int64_t heads, bool causal, float rate) {
        return result(qkv, attention(g.get(), qkv.value_in(g), {heads, causal, rate}));
      },
      arg("graph"), arg("qkv"), arg("heads"), arg("causal") = false, arg("dropout") = 0.0f,
      "qkv (N, T, 3C), its columns [Q | K | V] -> (N, T, C).");
}

void bind_shapes(nb::module_& layers) {
  layers.def(
      "concat",
      [](LentGraph& g, const std::vector<LentValue>& parts, int axis) {
        if (parts.empty()) fail(Category::config, "concat: there are no parts");
        std::vector<Value> values;
        for (const LentValue& part : parts) values.push_back(part.value_in(g));
        return result(parts.front(), concat(g.get(), values, axis));
      },
      arg("graph"), arg("parts"), arg("axis"));
  layers.def(
      "reshape",
      [](LentGraph& g, const LentValue& x, const std::vector<int64_t>& shape) {
        if (shape.size() > static_cast<size_t>(Shape::max_rank))
          fail(Category::config, "reshape: {} axes; {} are the most", shape.size(),
               Shape::max_rank);
        return result(x, reshape(g.get(), x.value_in(g), Shape(shape)));
      },
      arg("graph"), arg("x"), arg("shape"), "shape: the whole one, with the batch.");
  layers.def(
      "transpose",
      [](LentGraph& g, const LentValue& x, const std::vector<int>& axes) {
        return result(x, transpose(g.get(), x.value_in(g), axes));
      },
      arg("graph"), arg("x"), arg("axes"), "As PyTorch's permute.");
  layers.def(
      "slice",
      [](LentGraph& g, const LentValue& x, int axis, int64_t begin, int64_t length) {
        return result(x, slice(g.get(), x.value_in(g), axis, begin, length));
      },
      arg("graph"), arg("x"), arg("axis"), arg("begin"), arg("length"));
}

void bind_losses(nb::module_& layers) {
  layers.def(
      "cross_entropy_loss",
      [](LentGraph& g, const LentValue& logits, const LentValue& labels, float smoothing) {
        cross_entropy_loss(g.get(), logits.value_in(g), labels.value_in(g), smoothing);
      },
      arg("graph"), arg("logits"), arg("labels"), arg("label_smoothing") = 0.0f,
      "logits (N, classes), labels (N); or (N, .., classes), (N, ..).");
  layers.def(
      "reconstruction_loss",
      [](LentGraph& g, const LentValue& prediction, const LentValue& target,
         const std::string& kind) {
        if (kind != "mse" && kind != "l1" && kind != "l1_l2")
          fail(Category::config, "reconstruction_loss: kind is '{}'; it is mse, l1 or l1_l2", kind);
        Regression loss = kind == "mse"  ? Regression::mse
                          : kind == "l1" ? Regression::l1
                                         : Regression::l1_l2;
        reconstruction_loss(g.get(), prediction.value_in(g), target.value_in(g), loss);
      },
      arg("graph"), arg("prediction"), arg("target"), arg("kind") = "mse",
      "prediction and target (N, ..); kind: mse, l1 or l1_l2.");
}

}  // namespace

void bind_layers(nb::module_& module) {
  nb::module_ layers = module.def_submodule("layers", "Layers, losses and functions of models.");
  bind_weighted(layers);
  bind_functions(layers);
  bind_shapes(layers);
  bind_losses(layers);
}

}  // namespace spire::python
