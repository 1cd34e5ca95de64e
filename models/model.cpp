#include "models/model.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <spire/layers.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/words.h"
#include "models/table_layers.h"
#include "models/teacher.h"

namespace spire {
namespace {

// Shape of a model's output: (N, K); (N, T, vocabulary); (N, H, W, C); any of these, by its layers.
enum class Output : uint8_t { vector, tokens, image, any };

struct ModelEntry {
  std::string name;
  Value (*build)(Graph&, Value input, const ModelConfig&, int64_t size);  // last axis of the output
  Output output = Output::vector;
  bool packs = false;   // whether it keeps packed documents apart
  bool images = false;  // whether its input is (N, H, W, C)
};
// The table of models: a new one is one row.
const std::vector<ModelEntry>& models() {
  static const std::vector<ModelEntry> table = {
      {"linear", &linear},
      {"mlp", &mlp},
      {.name = "lenet", .build = &lenet, .images = true},
      {.name = "cnn", .build = &cnn, .images = true},
      {.name = "resnet", .build = &resnet, .images = true},
      {.name = "vgg", .build = &vgg, .images = true},
      {"unet", &unet, Output::image},
      {"autoencoder", &autoencoder, Output::image},
      {"gpt", &gpt, Output::tokens, true},
      {"llama", &llama, Output::tokens, true},
      {.name = "vit", .build = &vit, .images = true},
      {"layers", &layers_model, Output::any},
  };
  return table;
}

// Throws Error(config), with the known names, for an unknown one.
const ModelEntry& find_model(const std::string& name) {
  for (const auto& entry : models()) {
    if (entry.name == name) return entry;
  }
  fail(Category::config,
       "unknown model '{}'; must be one of: {}; or of the program that trained it, which brings it",
       name, fmt::join(model_names(), ", "));
}

// The layers' own messages name no model.
void require_images(const std::string& model, const Column& input) {
  if (input.shape.rank() == 3) return;
  bool row = input.name == "features" && input.shape.rank() == 1;
  fail(Category::config, "model.name: {} needs images (H, W, C), but the data has {}; {}", model,
       row ? fmt::format("rows of {}", counted(input.shape[0], "number"))
           : fmt::format("{} {}", input.name, to_string(input.shape)),
       row ? "set model.name: mlp or linear" : "set another model.name or data.name");
}

// Adds the graph's inputs.
ModelInputs add_inputs(Graph& graph, const ModelInput& input) {
  std::vector<std::pair<std::string, Value>> values;
  for (const Column& column : input.columns) {
    std::vector<int64_t> dims = {input.batch};
    dims.insert(dims.end(), column.shape.dims().begin(), column.shape.dims().end());
    values.emplace_back(column.name, graph.input(column.name, {Shape(dims), column.dtype}));
  }
  require(!values.empty(), "a model without inputs");
  return {std::move(values), input.batch, input.classes};
}

// The inputs of a program's model, which reads what Spire's models do: words as vectors.
ModelInputs with_embedded_words(Graph& graph, const ModelInputs& inputs, const ModelInput& input) {
  std::vector<std::pair<std::string, Value>> values;
  for (const Column& column : input.columns) values.emplace_back(column.name, inputs[column.name]);
  values.front().second = embed_categories(graph, inputs.first(), input.table);
  return {std::move(values), inputs.batch(), inputs.classes()};
}

const Column* find_column(const std::vector<Column>& columns, std::string_view name) {
  auto found = std::ranges::find(columns, name, &Column::name);
  return found == columns.end() ? nullptr : &*found;
}

bool has_column(const std::vector<Column>& columns, std::string_view name) {
  return find_column(columns, name) != nullptr;
}

// Length of the last axis of a model's output: of values, channels or classes.
int64_t output_size(const ModelInput& input, Task task) {
  if (task == Task::regress) return find_column(input.columns, "values")->shape.elements();
  if (task != Task::reconstruct) return input.classes;
  const Column* target = find_column(input.columns, "target_images");
  return (target != nullptr ? *target : input.columns.front()).shape.back();
}

std::string column_names(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

using Name = LossConfig::Name;

// share: of the labels in the loss.
FocalOptions focal_options(const LossConfig& loss, int64_t classes, const ModelInputs& inputs,
                           float share) {
  FocalOptions options{.gamma = loss.name == Name::focal ? static_cast<float>(loss.focal_gamma) : 0,
                       .label_smoothing = static_cast<float>(loss.label_smoothing),
                       .other_labels = inputs.find("other_labels"),
                       .mix = inputs.find("mix"),
                       .z_loss = static_cast<float>(loss.z_loss),
                       .weight = share};
  options.class_weights.assign(loss.class_weights.begin(), loss.class_weights.end());
  if (!options.class_weights.empty() && std::ssize(options.class_weights) != classes)
    fail(Category::config, "loss.class_weights: got {} numbers for {} classes; give one a class",
         options.class_weights.size(), classes);
  return options;
}

// share: of this loss beside a teacher's.
CrossEntropyOptions entropy_options(const LossConfig& loss, float share = 1) {
  return {.label_smoothing = static_cast<float>(loss.label_smoothing),
          .z_loss = static_cast<float>(loss.z_loss),
          .weight = share};
}

// Adds the loss against labels, or against the labels of two mixed samples (mixup, cutmix).
void add_class_loss(Graph& graph, Value logits, const ModelInputs& inputs, const LossConfig& loss,
                    float share) {
  Value labels = inputs.find("labels"), other_labels = inputs.find("other_labels");
  bool entropy = loss.name == Name::automatic || loss.name == Name::cross_entropy;
  bool weighted = loss.name == Name::focal || (entropy && !loss.class_weights.empty());
  if (weighted)
    return focal_loss(graph, logits, labels,
                      focal_options(loss, graph.spec(logits).shape.back(), inputs, share));
  if (entropy) {
    CrossEntropyOptions options = entropy_options(loss, share);
    options.other_labels = other_labels;
    options.mix = inputs.find("mix");
    return cross_entropy_loss(graph, logits, labels, options);
  }
  if (other_labels)
    fail(Category::config,
         "data.augment: mixup and cutmix need loss.name: cross_entropy or focal, got {}",
         word_of(loss.name));
  if (loss.name == Name::mse) return mse_loss(graph, logits, labels);
  if (loss.name == Name::l1) return l1_loss(graph, logits, labels);
  fail(Category::config, "loss.name: {} does not fit classes; use cross_entropy, focal, mse or l1",
       word_of(loss.name));
}

void refuse_class_weights(const LossConfig& loss, const char* targets) {
  if (loss.class_weights.empty()) return;
  fail(Category::config, "loss.class_weights: weighs the classes of samples, not {}; use []",
       targets);
}

void add_binary_loss(Graph& graph, Value logits, Value labels) {
  if (graph.spec(labels).shape.rank() != 2)
    fail(Category::config,
         "loss.name: binary needs a row of labels, 0 or 1, for each sample, not images; use mse, "
         "l1, l1_l2 or huber");
  binary_loss(graph, logits, labels);
}

// Adds the loss against numbers (auto: mse) or images (auto: l1_l2).
void add_regression_loss(Graph& graph, Value prediction, Value target, const LossConfig& loss,
                         Regression by_default) {
  if (loss.name == Name::huber)
    return huber_loss(graph, prediction, target, static_cast<float>(loss.huber_delta));
  if (loss.name == Name::binary) return add_binary_loss(graph, prediction, target);
  Regression kind = by_default;
  if (loss.name == Name::automatic) {
    refuse_class_weights(loss, "values or images");
    if (loss.z_loss > 0)
      fail(Category::config, "loss.z_loss: does not fit values or images; use 0");
  } else if (loss.name == Name::mse) {
    kind = Regression::mse;
  } else if (loss.name == Name::l1) {
    kind = Regression::l1;
  } else if (loss.name == Name::l1_l2) {
    kind = Regression::l1_l2;
  } else {
    fail(Category::config, "loss.name: {} needs classes; use mse, l1, l1_l2 or huber",
         word_of(loss.name));
  }
  reconstruction_loss(graph, prediction, target, kind);
}

// Adds the loss against the classes of pixels.
void add_pixel_loss(Graph& graph, Value logits, Value masks, const LossConfig& loss) {
  if (loss.name != Name::automatic && loss.name != Name::cross_entropy)
    fail(Category::config, "loss.name: {} does not fit masks; use cross_entropy",
         word_of(loss.name));
  refuse_class_weights(loss, "masks");
  CrossEntropyOptions options = entropy_options(loss);
  options.unlabelled = true;
  cross_entropy_loss(graph, logits, masks, options);
}

void add_token_loss(Graph& graph, Value logits, Value targets, const LossConfig& loss,
                    float share) {
  if (loss.name != Name::automatic && loss.name != Name::cross_entropy)
    fail(Category::config, "loss.name: {} does not fit tokens; use cross_entropy",
         word_of(loss.name));
  refuse_class_weights(loss, "tokens");
  cross_entropy_loss(graph, logits, targets, entropy_options(loss, share));
}

// The output of a list of layers follows from the data and from the shape of the last layer.
Output output_of(const ModelConfig& model, const std::vector<Column>& columns) {
  Output output = find_model(model_for(model, columns)).output;
  if (output != Output::any) return output;
  const Column& first = columns.front();
  if (first.name == "tokens")
    return has_column(columns, "targets") ? Output::tokens : Output::vector;
  return layers_make_images(model.layers, first.shape) ? Output::image : Output::vector;
}

// The shape that the loss of a task needs.
Shape expected_output(Task task, const ModelInput& input) {
  std::vector<int64_t> dims = {input.batch, output_size(input, task)};
  auto sample = input.columns.front().shape.dims();
  if (task == Task::predict_tokens) dims.insert(dims.begin() + 1, sample[0]);
  if (task == Task::reconstruct || task == Task::segment)
    dims.insert(dims.begin() + 1, {sample[0], sample[1]});
  return Shape(dims);
}

// Checks the output shape of a list of layers, which may be anything.
void check_output(const Graph& graph, Value output, Task task, const ModelInput& input) {
  Shape shape = graph.spec(output).shape, expected = expected_output(task, input);
  if (shape == expected) return;
  const char* advice = "; end with flatten and {dense: {units: classes}}";
  if (task == Task::reconstruct) advice = "";
  if (task == Task::segment)
    advice = "; end with a conv2d of as many channels as there are classes";
  fail(Category::config,
       "model.layers: the output of the last layer is {}, but for a batch of {} it must be {}{}",
       to_string(shape), input.batch, to_string(expected), advice);
}

// Adds the loss against values. Of scaled ones the loss is in units of their deviation, while the
// output and the score are in the values' own unit.
void add_value_loss(Graph& graph, Value found, Value values, const LossConfig& loss,
                    const Normalization& target_scale) {
  if (loss.name == Name::binary && !target_scale.mean.empty())
    fail(Category::config,
         "loss.name: binary needs values 0 and 1 as they are; set data.csv.scale_target: false");
  Value scaled = standardized(graph, values, target_scale);
  add_regression_loss(graph, found, scaled, loss, Regression::mse);
  if (target_scale.mean.empty()) return;
  // The difference of scaled values: those in their own unit may be large beside it.
  Normalization deviations = {std::vector<double>(target_scale.mean.size()), target_scale.stddev};
  Value error = in_own_unit(graph, sub(graph, cast(graph, found, DType::f32), scaled), deviations);
  graph.mark_output("score", mean_loss(graph, square(graph, error)));
}

// The loss compares what the model finds with a column of the data. share: of this loss beside a
// teacher's.
void add_loss(Graph& graph, Value output, const ModelInputs& inputs, const LossConfig& loss,
              Task task, const Normalization& target_scale, float share) {
  switch (task) {
    case Task::classify:
      return add_class_loss(graph, output, inputs, loss, share);
    case Task::predict_tokens:
      return add_token_loss(graph, output, inputs["targets"], loss, share);
    case Task::regress:
      return add_value_loss(graph, output, inputs["values"], loss, target_scale);
    case Task::reconstruct: {
      Value target = inputs.find("target_images");
      return add_regression_loss(graph, output, target ? target : inputs["images"], loss,
                                 Regression::l1_l2);
    }
    case Task::segment:
      return add_pixel_loss(graph, output, inputs["masks"], loss);
    case Task::custom:
      break;
  }
  fail(Category::unexpected, "a loss of its own");
}

// Adds the loss against the data and, with a teacher's logits, that against these.
void add_losses(Graph& graph, Value output, const ModelInputs& inputs, const LossConfig& loss,
                Task task, const ModelInput& input, Value teacher) {
  float weight = teacher ? static_cast<float>(input.teacher->config.weight) : 0;
  add_loss(graph, output, inputs, loss, task, input.target_scale, 1 - weight);
  if (!teacher) return;
  if (graph.spec(teacher) != graph.spec(output))
    fail(Category::config,
         "distill.from: the teacher's logits are {}, but the model's {}; both must tell the same "
         "classes apart",
         to_string(graph.spec(teacher).shape), to_string(graph.spec(output).shape));
  distillation_loss(
      graph, output, teacher,
      {.temperature = static_cast<float>(input.teacher->config.temperature), .weight = weight});
}

// Before the model, so that the teacher's activations are gone by the time of the model's.
Value teacher_logits(Graph& graph, const LossConfig& loss, Task task, const ModelInput& input) {
  return input.teacher ? teach(graph, *input.teacher, loss, task, input) : Value{};
}

void check_own_output(const Model& model, const Graph& graph, Value output, Task task,
                      const ModelInput& input) {
  Shape shape = graph.spec(output).shape, expected = expected_output(task, input);
  if (shape == expected) return;
  fail(Category::config,
       "model {}: its output is {}, but for a batch of {} it must be {}; or give the model a loss "
       "of its own",
       model.name, to_string(shape), input.batch, to_string(expected));
}

void check_own_loss(const Model& model, const Graph& graph) {
  bool complete = !graph.losses().empty() && graph.outputs().contains("loss") &&
                  graph.outputs().contains("score");
  if (complete) return;
  fail(Category::config,
       "model {}: its loss must add a loss to the graph (add_loss) and mark the outputs 'loss' and "
       "'score' (mark_output)",
       model.name);
}

}  // namespace

std::vector<Column> unpacked_columns(std::vector<Column> columns) {
  std::erase_if(columns, [](const Column& column) { return column.name == "positions"; });
  return columns;
}

Value packed_positions(const Graph& graph) {
  for (Value input : graph.values_of(Role::input))
    if (graph.tensor(input).name == "positions") return input;
  return {};
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& entry : models()) names.push_back(entry.name);
  return names;
}

std::string model_for(const ModelConfig& model, const std::vector<Column>& columns) {
  if (model.name != "auto") return model.name;
  if (!model.layers.empty()) return "layers";
  if (has_column(columns, "target_images") || has_column(columns, "masks")) return "unet";
  const std::string& input = columns.front().name;
  return input == "tokens" ? "gpt" : input == "features" ? "mlp" : "cnn";
}

Task task_of(const ModelConfig& model, const std::vector<Column>& columns) {
  auto has = [&](std::string_view name) { return has_column(columns, name); };
  // Data with values is for regression although it may have labels, too.
  bool vectors =
      has("images") || has("features") || (has("tokens") && model_for(model, columns) == "layers");
  auto expect = [&](bool fits, Task task, const char* needs) {
    if (fits) return task;
    if (has("tokens") && !has("targets"))
      fail(Category::config,
           "model.name: no named model reads {}; write model.layers: [embedding: {{vocabulary: N, "
           "width: 64}}, global_avg_pool, dense: classes], where N is the largest token + 1",
           column_names(columns));
    fail(Category::config,
         "model.name: {} needs {}, but the data has {}; set another model.name or data.name",
         model.name, needs, column_names(columns));
  };
  switch (output_of(model, columns)) {
    case Output::vector:
      if (vectors && has("values")) return Task::regress;
      return expect(vectors && has("labels"), Task::classify, "images or features with labels");
    case Output::tokens:
      return expect(has("tokens") && has("targets"), Task::predict_tokens, "tokens");
    case Output::image:
      if (has("values") && model.name != "autoencoder")
        fail(
            Category::config,
            "model.name: {} makes images like those it reads and has no use for the data's values; "
            "to find values take a model of vectors (mlp, cnn, resnet, layers that end with "
            "dense), to learn the images alone an autoencoder",
            model.name);
      if (has("masks")) return Task::segment;
      return expect(has("images"), Task::reconstruct, "images");
    case Output::any:
      break;
  }
  fail(Category::unexpected, "unknown output");
}

bool makes_images(const ModelConfig& model) {
  return model.name != "auto" && find_model(model.name).output == Output::image;
}

Graph build_model(const ModelConfig& model, const LossConfig& loss, const ModelInput& input,
                  bool training) {
  Task task = task_of(model, input.columns);
  Graph graph(training, input.dtype);
  ModelInputs inputs = add_inputs(graph, input);
  Value teacher = teacher_logits(graph, loss, task, input);
  const ModelEntry& entry = find_model(model_for(model, input.columns));
  if (packed_positions(graph) && !entry.packs)
    fail(
        Category::config,
        "data.tokens.documents: packed needs a model that keeps documents apart, gpt or llama, got "
        "{}; change model.name, or use joined",
        entry.name);
  if (entry.images) require_images(entry.name, input.columns.front());
  Value read = embed_categories(graph, inputs.first(), input.table);
  Value output = entry.build(graph, read, model, output_size(input, task));
  if (model.name == "layers") check_output(graph, output, task, input);
  graph.mark_output("output", in_own_unit(graph, output, input.target_scale));
  add_losses(graph, output, inputs, loss, task, input, teacher);
  return graph;
}

Task own_task(const Model& model, const std::vector<Column>& columns) {
  if (model.loss) return Task::custom;
  if (has_column(columns, "targets")) return Task::predict_tokens;
  if (has_column(columns, "values")) return Task::regress;
  if (has_column(columns, "masks")) return Task::segment;
  if (has_column(columns, "target_images")) return Task::reconstruct;
  if (has_column(columns, "labels")) return Task::classify;
  if (has_column(columns, "images")) return Task::reconstruct;
  fail(Category::config,
       "model {}: the data has {}, which no loss fits; give the model a loss of its own, or data "
       "with labels, values, targets, masks or target_images",
       model.name, column_names(columns));
}

Graph build_own_model(const Model& model, const LossConfig& loss, const ModelInput& input,
                      bool training) {
  Task task = own_task(model, input.columns);
  Graph graph(training, input.dtype);
  ModelInputs inputs = add_inputs(graph, input);
  Value teacher = teacher_logits(graph, loss, task, input);
  inputs = with_embedded_words(graph, inputs, input);
  Value output = model.layers(graph, inputs);
  if (!output) fail(Category::config, "model {}: its layers return no value", model.name);
  if (task == Task::custom) {
    graph.mark_output("output", output);
    model.loss(graph, output, inputs);
    check_own_loss(model, graph);
    return graph;
  }
  graph.mark_output("output", in_own_unit(graph, output, input.target_scale));
  check_own_output(model, graph, output, task, input);
  add_losses(graph, output, inputs, loss, task, input, teacher);
  return graph;
}

Value ModelInputs::find(std::string_view column) const {
  for (const auto& [known, value] : values_)
    if (known == column) return value;
  return {};
}

Value ModelInputs::operator[](std::string_view column) const {
  if (Value value = find(column)) return value;
  std::vector<std::string> names;
  for (const auto& [known, value] : values_) names.push_back(known);
  fail(Category::config, "the data has no column '{}'; it has {}", column, fmt::join(names, ", "));
}

}  // namespace spire
