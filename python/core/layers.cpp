// The layer functions of layers.h as functions of the module spire.layers.
#include "python/core/layer_arguments.h"

namespace spire::python {
namespace {

using nb::arg;
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

// Tables of embeddings begin as GPT-2's.
Initializer or_normal(const std::optional<PythonInitializer>& given) {
  return given ? given->initialize : normal(0.02);
}

Value value_or_none(const std::optional<LentValue>& given, const LentGraph& graph) {
  return given ? given->value_in(graph) : Value{};
}

Resize resize_of(const std::string& kind) {
  if (kind == "nearest") return Resize::nearest;
  if (kind == "bilinear") return Resize::bilinear;
  fail(Category::config, "resize: kind is '{}'; it is nearest or bilinear", kind);
}

void bind_weighted(nb::module_& layers) {
  layers.def(
      "conv2d",
      [](LentGraph& g, const std::string& name, const LentValue& x, int64_t channels,
         const Extent& kernel, const Extent& stride, const Extent& padding, const Extent& dilation,
         int64_t groups, bool bias, const std::optional<PythonInitializer>& initialize) {
        Conv2dOptions options{
            channels,         extent(kernel), extent(stride), extent(padding),
            extent(dilation), groups,         bias,           initializer(initialize)};
        return result(x, conv2d(g.get(), name, x.value_in(g), options));
      },
      arg("graph"), arg("name"), arg("x"), arg("channels"), arg("kernel") = 3, arg("stride") = 1,
      arg("padding") = 0, arg("dilation") = 1, arg("groups") = 1, arg("bias") = true,
      arg("initialize") = nb::none(),
      "Convolution of images (N, H, W, C); extents are one number, or (height, width).");
  layers.def(
      "conv1d",
      [](LentGraph& g, const std::string& name, const LentValue& x, int64_t channels,
         int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, int64_t groups,
         bool bias, const std::optional<PythonInitializer>& initialize) {
        Conv1dOptions options{channels, kernel, stride, padding,
                              dilation, groups, bias,   initializer(initialize)};
        return result(x, conv1d(g.get(), name, x.value_in(g), options));
      },
      arg("graph"), arg("name"), arg("x"), arg("channels"), arg("kernel") = 3, arg("stride") = 1,
      arg("padding") = 0, arg("dilation") = 1, arg("groups") = 1, arg("bias") = true,
      arg("initialize") = nb::none(), "Convolution along sequences (N, T, C).");
  layers.def(
      "conv_transpose2d",
      [](LentGraph& g, const std::string& name, const LentValue& x, int64_t channels,
         const Extent& kernel, const Extent& stride, const Extent& padding,
         const Extent& output_padding, bool bias,
         const std::optional<PythonInitializer>& initialize) {
        ConvTranspose2dOptions options{channels,
                                       extent(kernel),
                                       extent(stride),
                                       extent(padding),
                                       extent(output_padding),
                                       bias,
                                       initializer(initialize)};
        return result(x, conv_transpose2d(g.get(), name, x.value_in(g), options));
      },
      arg("graph"), arg("name"), arg("x"), arg("channels"), arg("kernel") = 3, arg("stride") = 1,
      arg("padding") = 0, arg("output_padding") = 0, arg("bias") = true,
      arg("initialize") = nb::none(),
      "Transposed convolution of images (N, H, W, C), (H - 1) * stride - 2 * padding + kernel +\n"
      "output_padding high.");
  layers.def(
      "dense",
      [](LentGraph& g, const std::string& name, const LentValue& x, int64_t units, bool bias,
         const std::optional<PythonInitializer>& initialize) {
        return result(x, dense(g.get(), name, x.value_in(g), units, bias, initializer(initialize)));
      },
      arg("graph"), arg("name"), arg("x"), arg("units"), arg("bias") = true,
      arg("initialize") = nb::none(), "x (.., K) -> (.., units).");
  layers.def(
      "embedding",
      [](LentGraph& g, const std::string& name, const LentValue& ids, int64_t vocabulary,
         int64_t width, const std::optional<PythonInitializer>& initialize) {
        Embedding made = embedding(g.get(), name, ids.value_in(g), vocabulary, width,
                                   g.get().compute_dtype(), or_normal(initialize));
        return std::pair(result(ids, made.output), result(ids, made.table));
      },
      arg("graph"), arg("name"), arg("ids"), arg("vocabulary"), arg("width"),
      arg("initialize") = nb::none(),
      "ids (..) -> (output (.., width), table); the table may be the weight of tied_dense().\n"
      "initialize: default: normal(0.02).");
  bind_pair(
      layers, "tied_dense", [](Graph& g, Value table, Value x) { return tied_dense(g, table, x); },
      "a: the table (V, K) of an embedding; b (.., K) -> (.., V).");
  layers.def(
      "position_embedding",
      [](LentGraph& g, const std::string& name, const LentValue& x,
         const std::optional<PythonInitializer>& initialize, int64_t positions,
         const std::optional<LentValue>& at) {
        Value in = x.value_in(g), rows = value_or_none(at, g);
        Initializer initial = or_normal(initialize);
        if (!rows)
          return result(x, position_embedding(g.get(), name, in, std::move(initial), positions));
        if (positions < 1)
          fail(Category::config, "position_embedding: with `at` give the weight's rows, positions");
        return result(x,
                      position_embedding(g.get(), name, in, rows, std::move(initial), positions));
      },
      arg("graph"), arg("name"), arg("x"), arg("initialize") = nb::none(), arg("positions") = 0,
      arg("at") = nb::none(),
      "Adds the first T rows of a weight (positions, C) to x (N, T, C); 0 means T. at: (N, T)\n"
      "integers below positions, the row for each token. initialize: default: normal(0.02).");
  layers.def(
      "batch_norm",
      [](LentGraph& g, const std::string& name, const LentValue& x, float epsilon, float momentum,
         bool sync, float gamma) {
        BatchNormOptions options{epsilon, momentum, gamma, sync};
        return result(x, batch_norm(g.get(), name, x.value_in(g), options));
      },
      arg("graph"), arg("name"), arg("x"), arg("epsilon") = 1e-5f, arg("momentum") = 0.1f,
      arg("sync") = false, arg("gamma") = 1.0f,
      "sync: statistics over the whole global batch, not one tower's. gamma: its initial value.");
  layers.def(
      "layer_norm",
      [](LentGraph& g, const std::string& name, const LentValue& x, float epsilon) {
        return result(x, layer_norm(g.get(), name, x.value_in(g), epsilon));
      },
      arg("graph"), arg("name"), arg("x"), arg("epsilon") = 1e-5f, "Over the last axis.");
  layers.def(
      "rms_norm",
      [](LentGraph& g, const std::string& name, const LentValue& x, float epsilon) {
        return result(x, rms_norm(g.get(), name, x.value_in(g), epsilon));
      },
      arg("graph"), arg("name"), arg("x"), arg("epsilon") = 1e-5f,
      "Divides by the root of the mean square over the last axis.");
  layers.def(
      "group_norm",
      [](LentGraph& g, const std::string& name, const LentValue& x, int64_t groups, float epsilon) {
        return result(x, group_norm(g.get(), name, x.value_in(g), groups, epsilon));
      },
      arg("graph"), arg("name"), arg("x"), arg("groups"), arg("epsilon") = 1e-5f,
      "Over all positions of a sample and the channels of a group; as many groups as channels is\n"
      "instance normalization.");
}

void bind_recurrent(nb::module_& layers, const char* name,
                    Value (*layer)(Graph&, const std::string&, Value, const RecurrentOptions&)) {
  layers.def(
      name,
      [layer](LentGraph& g, const std::string& prefix, const LentValue& x, int64_t units,
              bool last) {
        return result(x, layer(g.get(), prefix, x.value_in(g), {.units = units, .last = last}));
      },
      arg("graph"), arg("name"), arg("x"), arg("units"), arg("last") = false,
      "x (N, T, F) -> (N, T, units); last: the state behind the last step, (N, units). Gates and\n"
      "parameters are those of PyTorch.");
}

void bind_functions(nb::module_& layers) {
  bind_simple(layers, "relu", relu, "max(x, 0)");
  bind_simple(layers, "gelu", gelu, "x times the normal distribution's function of x.");
  bind_simple(layers, "gelu_tanh", gelu_tanh, "The tanh approximation of gelu, as in GPT-2.");
  bind_simple(layers, "silu", silu, "x / (1 + exp(-x))");
  bind_simple(layers, "swiglu", swiglu, "x (.., 2F), [gates | values] -> silu(gates) * values.");
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
      [](LentGraph& g, const LentValue& qkv, int64_t heads, bool causal, float rate,
         int64_t kv_heads, const std::optional<LentValue>& positions) {
        AttentionOptions options{heads, causal, rate, kv_heads, value_or_none(positions, g)};
        return result(qkv, attention(g.get(), qkv.value_in(g), options));
      },
      arg("graph"), arg("qkv"), arg("heads"), arg("causal") = false, arg("dropout") = 0.0f,
      arg("kv_heads") = 0, arg("positions") = nb::none(),
      "qkv (N, T, 3C), its columns [Q | K | V] -> (N, T, C). kv_heads: of K and V, which are\n"
      "then kv_heads * C / heads wide; default: heads. positions: of packed documents, (N, T)\n"
      "integers, 0 where a document begins and one more with each token: a token sees only its\n"
      "own document; needs causal.");
  layers.def(
      "rope",
      [](LentGraph& g, const LentValue& x, int64_t heads, int64_t size, double theta,
         const std::optional<LentValue>& positions) {
        RopeOptions options{heads, size, theta, value_or_none(positions, g)};
        return result(x, rope(g.get(), x.value_in(g), options));
      },
      arg("graph"), arg("x"), arg("heads"), arg("size"), arg("theta") = 10000.0,
      arg("positions") = nb::none(),
      "Rotary positions of the first `heads` heads of x (N, T, C), of `size` columns each: of\n"
      "qkv those of Q and K. positions: (N, T) integers, of each token; default: 0 to T - 1.");
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
      arg("graph"), arg("x"), arg("axis"), arg("begin"), arg("length"),
      "Elements [begin, begin + length) of an axis.");
  layers.def(
      "gather",
      [](LentGraph& g, const LentValue& x, const LentValue& indices, int axis) {
        return result(x, gather(g.get(), x.value_in(g), indices.value_in(g), axis));
      },
      arg("graph"), arg("x"), arg("indices"), arg("axis"), "Elements `indices` (K) of an axis.");
  layers.def(
      "expand",
      [](LentGraph& g, const LentValue& x, int64_t count, const std::string& dtype) {
        DType type = dtype.empty() ? g.get().compute_dtype() : dtype_from_name(dtype);
        return result(x, expand(g.get(), x.value_in(g), count, type));
      },
      arg("graph"), arg("x"), arg("count"), arg("dtype") = "",
      "x (..) once per sample: (count, ..). dtype: f32, bf16 or f16; default: the graph's.");
  layers.def(
      "resize",
      [](LentGraph& g, const LentValue& x, const Extent& size, const std::string& kind) {
        return result(x, resize(g.get(), x.value_in(g), extent(size), resize_of(kind)));
      },
      arg("graph"), arg("x"), arg("size"), arg("kind") = "nearest",
      "Images (N, H, W, C) of another size; kind: nearest or bilinear.");
  layers.def(
      "pad_channels",
      [](LentGraph& g, const LentValue& x, int64_t channels) {
        return result(x, pad_channels(g.get(), x.value_in(g), channels));
      },
      arg("graph"), arg("x"), arg("channels"), "Appends zeros up to `channels`.");
}

}  // namespace

void bind_layers(nb::module_& module) {
  nb::module_ layers = module.def_submodule("layers", "Layers, losses and functions of models.");
  bind_initializers(layers);
  bind_weighted(layers);
  bind_recurrent(layers, "lstm", lstm);
  bind_recurrent(layers, "gru", gru);
  bind_functions(layers);
  bind_shapes(layers);
  bind_losses(layers);
}

}  // namespace spire::python
