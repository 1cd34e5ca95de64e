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

// Of the argument `initialize` of layers.
void bind_initializers(nb::module_& layers) {
  nb::class_<PythonInitializer>(layers, "Initializer", "Initial values of a weight.")
      .def("__repr__", [](const PythonInitializer& i) { return "spire.layers." + i.text; });
  auto define = [&](const char* name, const char* argument, auto number, auto make,
                    const char* help) {
    layers.def(
        name,
        [name, make](decltype(number) value) {
          return PythonInitializer{make(value), fmt::format("{}({})", name, value)};
        },
        nb::arg(argument), help);
  };
  define("kaiming_uniform", "fan_in", int64_t{}, init::kaiming_uniform,
         "uniform(sqrt(6 / fan_in))");
  define("kaiming_normal", "fan_out", int64_t{}, init::kaiming_normal, "normal(sqrt(2 / fan_out))");
  define("linear_uniform", "fan_in", int64_t{}, init::linear_uniform,
         "uniform(1 / sqrt(fan_in)), if no relu follows");
  define("uniform", "bound", float{}, init::uniform, "Uniform in [-bound, bound).");
  define("normal", "deviation", double{}, init::normal, "Mean 0, and this standard deviation.");
  define("constant", "value", float{}, init::constant, "One value everywhere.");
}

// Tables of embeddings begin as GPT-2's.
Initializer or_normal(const std::optional<PythonInitializer>& given) {
  return given ? given->initialize : init::normal(0.02);
}

Resize resize_of(const std::string& kind) {
  if (kind == "nearest") return Resize::nearest;
  if (kind == "bilinear") return Resize::bilinear;
  fail(Category::config, "resize: kind is '{}'; it is nearest or bilinear", kind);
}

void bind_weighted(nb::module_& layers) {
  bind_layer(layers, "conv2d",
             ByMembers<Conv2dOptions, int64_t, Extent2d, Extent2d, Extent2d, Extent2d, int64_t,
                       bool, Initializer>::layer<conv2d>,
             arg("name"), arg("x"), arg("channels"), arg("kernel") = 3, arg("stride") = 1,
             arg("padding") = 0, arg("dilation") = 1, arg("groups") = 1, arg("bias") = true,
             arg("initialize") = nb::none(),
             "Convolution of images (N, H, W, C); extents are one number, or (height, width).");
  bind_layer(layers, "conv1d",
             ByMembers<Conv1dOptions, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool,
                       Initializer>::layer<conv1d>,
             arg("name"), arg("x"), arg("channels"), arg("kernel") = 3, arg("stride") = 1,
             arg("padding") = 0, arg("dilation") = 1, arg("groups") = 1, arg("bias") = true,
             arg("initialize") = nb::none(), "Convolution along sequences (N, T, C).");
  bind_layer(
      layers, "conv_transpose2d",
      ByMembers<ConvTranspose2dOptions, int64_t, Extent2d, Extent2d, Extent2d, Extent2d, bool,
                Initializer>::layer<conv_transpose2d>,
      arg("name"), arg("x"), arg("channels"), arg("kernel") = 3, arg("stride") = 1,
      arg("padding") = 0, arg("output_padding") = 0, arg("bias") = true,
      arg("initialize") = nb::none(),
      "Transposed convolution of images (N, H, W, C), (H - 1) * stride - 2 * padding + kernel +\n"
      "output_padding high.");
  bind_layer(layers, "dense", dense, arg("name"), arg("x"), arg("units"), arg("bias") = true,
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
  bind_layer(layers, "tied_dense", tied_dense, arg("a"), arg("b"),
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
  bind_layer(layers, "layer_norm", layer_norm, arg("name"), arg("x"), arg("epsilon") = 1e-5f,
             "Over the last axis.");
  bind_layer(layers, "rms_norm", rms_norm, arg("name"), arg("x"), arg("epsilon") = 1e-5f,
             "Divides by the root of the mean square over the last axis.");
  bind_layer(
      layers, "group_norm", group_norm, arg("name"), arg("x"), arg("groups"),
      arg("epsilon") = 1e-5f,
      "Over all positions of a sample and the channels of a group; as many groups as channels is\n"
      "instance normalization.");
}

template <Value (*of)(Graph&, const std::string&, Value, const RecurrentOptions&)>
void bind_recurrent(nb::module_& layers, const char* name) {
  bind_layer(
      layers, name, ByMembers<RecurrentOptions, int64_t, bool>::layer<of>, arg("name"), arg("x"),
      arg("units"), arg("last") = false,
      "x (N, T, F) -> (N, T, units); last: the state behind the last step, (N, units). Gates and\n"
      "parameters are those of PyTorch.");
}

void bind_functions(nb::module_& layers) {
  bind_layer(layers, "relu", relu, arg("x"), "max(x, 0)");
  bind_layer(layers, "gelu", gelu, arg("x"), "x times the normal distribution's function of x.");
  bind_layer(layers, "gelu_tanh", gelu_tanh, arg("x"),
             "The tanh approximation of gelu, as in GPT-2.");
  bind_layer(layers, "silu", silu, arg("x"), "x / (1 + exp(-x))");
  bind_layer(layers, "swiglu", swiglu, arg("x"),
             "x (.., 2F), [gates | values] -> silu(gates) * values.");
  bind_layer(layers, "sigmoid", sigmoid, arg("x"), "1 / (1 + exp(-x))");
  bind_layer(layers, "tanh", tanh, arg("x"), "Hyperbolic tangent.");
  bind_layer(layers, "flatten", flatten, arg("x"),
             "(N, ..) -> (N, features), in the order H, W, C.");
  bind_layer(layers, "global_avg_pool", global_avg_pool, arg("x"), "(N, H, W, C) -> (N, C)");
  bind_pool(layers, "max_pool2d", max_pool2d);
  bind_pool(layers, "avg_pool2d", avg_pool2d);
  bind_layer(layers, "add", add, arg("a"), arg("b"), "a + b");
  bind_layer(layers, "mul", mul, arg("a"), arg("b"), "a * b, element by element.");
  bind_layer(layers, "matmul", matmul, arg("a"), arg("b"),
             "a (.., M, K), b (.., K, N) -> (.., M, N)");
  bind_layer(layers, "leaky_relu", leaky_relu, arg("x"), arg("slope") = 0.01f,
             "x, and slope * x below 0.");
  bind_layer(layers, "dropout", dropout, arg("x"), arg("rate"), "Returns x in evaluation.");
  bind_layer(
      layers, "attention",
      ByMembers<AttentionOptions, int64_t, bool, float, int64_t,
                OptionalValue>::function<attention>,
      arg("qkv"), arg("heads"), arg("causal") = false, arg("dropout") = 0.0f, arg("kv_heads") = 0,
      arg("positions") = nb::none(),
      "qkv (N, T, 3C), its columns [Q | K | V] -> (N, T, C). kv_heads: of K and V, which are\n"
      "then kv_heads * C / heads wide; default: heads. positions: of packed documents, (N, T)\n"
      "integers, 0 where a document begins and one more with each token: a token sees only its\n"
      "own document; needs causal.");
  bind_layer(
      layers, "rope",
      ByMembers<RopeOptions, int64_t, int64_t, double, OptionalValue>::function<rope>, arg("x"),
      arg("heads"), arg("size"), arg("theta") = 10000.0, arg("positions") = nb::none(),
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
  bind_layer(layers, "transpose", transpose, arg("x"), arg("axes"), "As PyTorch's permute.");
  bind_layer(layers, "slice", slice, arg("x"), arg("axis"), arg("begin"), arg("length"),
             "Elements [begin, begin + length) of an axis.");
  bind_layer(layers, "gather", gather, arg("x"), arg("indices"), arg("axis"),
             "Elements `indices` (K) of an axis.");
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
  bind_layer(layers, "pad_channels", pad_channels, arg("x"), arg("channels"),
             "Appends zeros up to `channels`.");
}

}  // namespace

void bind_layers(nb::module_& module) {
  nb::module_ layers = module.def_submodule("layers", "Layers, losses and functions of models.");
  bind_initializers(layers);
  bind_weighted(layers);
  bind_recurrent<lstm>(layers, "lstm");
  bind_recurrent<gru>(layers, "gru");
  bind_functions(layers);
  bind_shapes(layers);
  bind_losses(layers);
}

}  // namespace spire::python
