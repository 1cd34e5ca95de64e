// Losses, and the functions from which a program composes its own.
#include "python/core/layer_arguments.h"

namespace spire::python {
namespace {

using nb::arg;

Regression regression_of(const std::string& kind) {
  if (kind == "mse") return Regression::mse;
  if (kind == "l1") return Regression::l1;
  if (kind == "l1_l2") return Regression::l1_l2;
  fail(Category::config, "reconstruction_loss: kind is '{}'; it is mse, l1 or l1_l2", kind);
}

void bind_whole_losses(nb::module_& layers) {
  layers.def(
      "cross_entropy_loss",
      [](LentGraph& g, const LentValue& logits, const LentValue& labels, float smoothing,
         const std::optional<LentValue>& other_labels, const std::optional<LentValue>& mix,
         float z_loss, float weight) {
        CrossEntropyOptions options{.label_smoothing = smoothing,
                                    .other_labels = value_or_none(other_labels, g),
                                    .mix = value_or_none(mix, g),
                                    .z_loss = z_loss,
                                    .weight = weight};
        cross_entropy_loss(g.get(), logits.value_in(g), labels.value_in(g), options);
      },
      arg("graph"), arg("logits"), arg("labels"), arg("label_smoothing") = 0.0f,
      arg("other_labels") = nb::none(), arg("mix") = nb::none(), arg("z_loss") = 0.0f,
      arg("weight") = 1.0f,
      "logits (N, classes), labels (N); or (N, .., classes), (N, ..). For mixed samples:\n"
      "other_labels, and mix (N), the weight of the first ones. z_loss: weight of the squared\n"
      "log of the sum of exponentials, in training. weight: of this loss beside others.");
  layers.def(
      "distillation_loss",
      [](LentGraph& g, const LentValue& logits, const LentValue& teacher, float temperature,
         float weight) {
        distillation_loss(g.get(), logits.value_in(g), teacher.value_in(g),
                          {.temperature = temperature, .weight = weight});
      },
      arg("graph"), arg("logits"), arg("teacher"), arg("temperature") = 1.0f, arg("weight") = 1.0f,
      "Adds weight T^2 KL(softmax(teacher / T) || softmax(logits / T)) to the loss, T the\n"
      "temperature. logits and teacher (N, .., classes).");
  bind_layer(layers, "mse_loss", mse_loss, arg("logits"), arg("labels"),
             "Mean over classes of squared differences of logits and one-hot label.");
  bind_layer(layers, "l1_loss", l1_loss, arg("logits"), arg("labels"),
             "Mean over classes of absolute differences of logits and one-hot label.");
  bind_layer(
      layers, "focal_loss",
      ByMembers<FocalOptions, float, float, std::vector<float>, OptionalValue, OptionalValue, float,
                float>::loss<focal_loss>,
      arg("logits"), arg("labels"), arg("gamma") = 2.0f, arg("label_smoothing") = 0.0f,
      arg("class_weights") = std::vector<float>(), arg("other_labels") = nb::none(),
      arg("mix") = nb::none(), arg("z_loss") = 0.0f, arg("weight") = 1.0f,
      "logits (N, classes), labels (N): cross entropy times w (1 - p)^gamma, for the label with\n"
      "probability p and the weight w of class_weights; none: all 1. The others are those of\n"
      "cross_entropy_loss().");
  bind_layer(layers, "binary_loss", binary_loss, arg("logits"), arg("labels"),
             "logits and labels (N, K), 0 or 1: mean binary cross entropy of sigmoid(logits).");
  bind_layer(
      layers, "huber_loss", huber_loss, arg("prediction"), arg("target"), arg("delta") = 1.0f,
      "prediction and target (N, ..), d their difference: the mean of d^2 / 2 up to delta, and of\n"
      "delta (|d| - delta / 2) beyond it.");
  layers.def(
      "reconstruction_loss",
      [](LentGraph& g, const LentValue& prediction, const LentValue& target,
         const std::string& kind) {
        reconstruction_loss(g.get(), prediction.value_in(g), target.value_in(g),
                            regression_of(kind));
      },
      arg("graph"), arg("prediction"), arg("target"), arg("kind") = "mse",
      "prediction and target (N, ..); kind: mse, l1 or l1_l2.");
}

void bind_parts_of_losses(nb::module_& layers) {
  bind_layer(layers, "sub", sub, arg("a"), arg("b"), "a - b");
  bind_layer(layers, "div", div, arg("a"), arg("b"), "a / b");
  bind_layer(layers, "scale", scale, arg("x"), arg("factor"), arg("offset") = 0.0f,
             "factor * x + offset");
  bind_layer(layers, "exp", exp, arg("x"), "Exponential.");
  bind_layer(layers, "log", log, arg("x"), "Natural logarithm.");
  bind_layer(layers, "square", square, arg("x"), "x * x");
  bind_layer(layers, "sqrt", sqrt, arg("x"), "Square root, with an infinite gradient at 0.");
  bind_layer(layers, "abs", abs, arg("x"), "Absolute value, with a gradient of 0 at 0.");
  bind_layer(layers, "softmax", softmax, arg("x"), "Over the last axis.");
  bind_layer(layers, "log_softmax", log_softmax, arg("x"),
             "Logarithm of softmax, over the last axis.");
  bind_layer(layers, "cast", cast, arg("x"), arg("dtype"), "dtype: f32, bf16 or f16.");
  bind_layer(layers, "sum", sum, arg("x"), arg("axis"), "Over one axis, which the result lacks.");
  bind_layer(layers, "mean", mean, arg("x"), arg("axis"), "Over one axis, which the result lacks.");
  bind_layer(layers, "mean_loss", mean_loss, arg("x"),
             "The sum over the samples of x (N, ..) of their means, for Graph.add_loss().");
  bind_layer(layers, "add_mean_loss", add_mean_loss, arg("x"),
             "Adds mean_loss(x) as the graph's loss.");
  bind_layer(layers, "mark_score", mark_score, arg("x"), "Makes mean_loss(x) the graph's score.");
}

}  // namespace

void bind_losses(nb::module_& layers) {
  bind_whole_losses(layers);
  bind_parts_of_losses(layers);
}

}  // namespace spire::python
