#include <spire/models/model.h>

#include <fmt/ranges.h>

#include <spire/graph/layers.h>

namespace spire {
namespace {

struct ModelEntry {
  std::string name;
  Value (*build)(Graph&, Value, const ModelConfig&, int64_t);
};
const std::vector<ModelEntry>& models() {
  static const std::vector<ModelEntry> table = {{"mlp", &mlp}, {"cnn", &cnn}, {"resnet", &resnet}};
  return table;
}

Value build_logits(Graph& graph, Value images, const ModelConfig& config, int64_t classes) {
  for (const auto& entry : models()) {
    if (entry.name == config.name) return entry.build(graph, images, config, classes);
  }
  fail(Category::config, "unknown model '{}'; known: {}", config.name,
       fmt::join(model_names(), ", "));
}

void add_loss(Graph& graph, Value logits, Value labels, const LossConfig& loss) {
  if (loss.name == "cross_entropy") {
    cross_entropy_loss(graph, logits, labels, static_cast<float>(loss.label_smoothing));
  } else if (loss.name == "mse") {
    mse_loss(graph, logits, labels);
  } else if (loss.name == "l1") {
    l1_loss(graph, logits, labels);
  } else {
    fail(Category::config, "unknown loss '{}'; known: cross_entropy, mse, l1", loss.name);
  }
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& entry : models()) names.push_back(entry.name);
  return names;
}

Graph build_model(const ModelConfig& model, const LossConfig& loss, const ModelInput& input,
                  bool training) {
  Graph graph(training);
  const ImageShape& image = input.image;
  Value images = graph.input(
      "images", {{input.batch, image.height, image.width, image.channels}, input.dtype});
  Value labels = graph.input("labels", {{input.batch}, DType::i32});
  Value logits = build_logits(graph, images, model, image.classes);
  graph.mark_output("logits", logits);
  add_loss(graph, logits, labels, loss);
  return graph;
}

}  // namespace spire
