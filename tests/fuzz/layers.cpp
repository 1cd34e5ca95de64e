// Models that the config spells out: the bytes are the YAML after `layers:`. Each is built for
// images, for features and for tokens, up to the layout of its parameters, and nothing is computed.
#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/graph/graph.h"
#include "engine/graph/parameter_layout.h"
#include "engine/graph/passes.h"
#include "models/model.h"
#include "tests/fuzz/fuzz_target.h"

namespace spire::fuzz {
namespace {

std::vector<ModelInput> inputs() {
  Column labels = {"labels", {}, DType::i32}, values = {"values", {3}};
  Column tokens = {"tokens", {12}, DType::i32}, targets = {"targets", {12}, DType::i32};
  Column images = {"images", {8, 9, 3}, DType::bf16}, features = {"features", {10}};
  return {{.columns = {images, labels}, .classes = 10, .batch = 2, .dtype = DType::bf16},
          {.columns = {features, values}, .batch = 3},
          {.columns = {tokens, targets}, .classes = 20, .batch = 2}};
}

// Sizes that are planned with are those of real tensors: no product of extents ran over.
void check(const Graph& graph) {
  for (int id = 0; id < graph.value_count(); ++id) {
    int64_t elements = 1;
    for (int64_t dim : graph.spec({id}).shape.dims()) {
      require(dim >= 1, "a tensor of {}", to_string(graph.spec({id}).shape));
      require(!__builtin_mul_overflow(elements, dim, &elements), "a tensor of {}",
              to_string(graph.spec({id}).shape));
    }
  }
}

int build(const ModelConfig& model, const ModelInput& input) {
  return parse_or_refuse(Category::config, [&] {
    check(build_model(model, {}, input, false));
    Graph graph = build_model(model, {}, input, true);
    fuse_activations(graph);
    auto gradients = differentiate(graph);
    check(graph);
    ParameterLayout layout(graph, gradients);
    require(layout.trained_floats() >= 0 && layout.total_floats() >= layout.trained_floats(),
            "{} floats, {} of them trained", layout.total_floats(), layout.trained_floats());
  });
}

}  // namespace

int consume(const uint8_t* data, size_t size) {
  std::string text = "model:\n  layers: " + std::string(data, data + size);
  ModelConfig model;
  int verdict = parse_or_refuse(Category::config, [&] {
    model = parse_config({{"fuzz.yaml", text}}, {}).config.model;
  });
  if (verdict == refused || model.name != "layers") return refused;
  verdict = refused;
  for (const ModelInput& input : inputs())
    if (build(model, input) == accepted) verdict = accepted;
  return verdict;
}

// Every layer occurs.
std::vector<Bytes> seeds() {
  return {
      bytes_of("[{conv2d: {channels: 4, kernel: [3, 1], padding: same, groups: 1}}, batch_norm, "
               "relu, {max_pool2d: {padding: 1}}, {residual: {layers: [{conv2d: {channels: 6, "
               "kernel: 1, stride: 2, dilation: 1, bias: false, init: kaiming_normal}}, "
               "{leaky_relu: {slope: 0.2}}]}}, {avg_pool2d: {kernel: 1, stride: kernel}}, "
               "flatten, {dense: {units: classes, init: linear_uniform}}]"),
      bytes_of("[{conv_transpose2d: {channels: 5, kernel: 2, stride: 2, output_padding: 1}}, "
               "{resize: {factor: [1, 2], kind: bilinear}}, {global_avg_pool: {}}, {dropout: "
               "{rate: 0.5}}, {dense: {units: 10}}]"),
      bytes_of("[{embedding: {width: 8}}, positions, {repeat: {times: 2, layers: "
               "[{transformer_block: {heads: 2, causal: true, gelu: tanh}}]}}, {attention: "
               "{heads: 4, dropout: 0.1}}, layer_norm, {dense: {units: classes}}]"),
      bytes_of("[{dense: {units: 12}}, {gelu: {form: tanh}}, {reshape: {shape: [2, -1]}}, sigmoid, "
               "tanh, {reshape: {shape: [12]}}, {residual: {shortcut: identity, layers: [{dense: "
               "{units: 12}}]}}, {dense: {units: 3}}]")};
}

}  // namespace spire::fuzz
