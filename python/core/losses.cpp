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

// Binds a function that adds to the graph and returns nothing.
void bind_effect(nb::module_& layers, const char* name, void (*add)(Graph&, Value),
                 const char* help) {
  layers.def(
      name, [add](LentGraph& g, const LentValue& x) { add(g.get(), x.value_in(g)); }, arg("graph"),
      arg("x"), help);
}

void bind_label_loss(nb::module_& layers, const char* name, void (*add)(Graph&, Value, Value),
                     const char* help) {
  layers.def(
      name,
      [add](LentGraph& g, const LentValue& logits, const LentValue& labels) {
        add(g.get(), logits.value_in(g), labels.value_in(g));
      },
      arg("graph"), arg("logits"), arg("labels"), help);
}

void bind_over_axis(nb::module_& layers, const char* name, Value (*layer)(Graph&, Value, int),
                    const char* help) {
  layers.def(
      name,
      [layer](LentGraph& g, const LentValue& x, int axis) {
        return result(x, layer(g.get(), x.value_in(g), axis));
      },
      arg("graph"), arg("x"), arg("axis"), help);
}

void bind_whole_losses(nb::module_& layers) {
  layers.def(
      "cross_entropy_loss",
      [](LentGraph& g, const LentValue& logits, const LentValue& labels, float smoothing,
         const std::optional<LentValue>& other_labels, const std::optional<LentValue>& mix,
         float z_loss, float weight) {
        CrossEntropyOptions options{.label_smoothing = smoothing};
        options.weight = weight;
        options.z_loss = z_loss;
        if (other_labels) options.other_labels = other_labels->value_in(g);
        if (mix) options.mix = mix->value_in(g);
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
  bind_label_loss(layers, "mse_loss", mse_loss,
                  "Mean over classes of squared differences of logits and one-hot label.");
  bind_label_loss(layers, "l1_loss", l1_loss,
                  "Mean over classes of absolute differences of logits and one-hot label.");
  layers.def(
      "focal_loss",
      [](LentGraph& g, const LentValue& logits, const LentValue& labels, float gamma,
         float smoothing, const std::vector<float>& class_weights) {
        FocalOptions options{gamma, smoothing, class_weights};
        focal_loss(g.get(), logits.value_in(g), labels.value_in(g), options);
      },
      arg("graph"), arg("logits"), arg("labels"), arg("gamma") = 2.0f,
      arg("label_smoothing") = 0.0f, arg("class_weights") = std::vector<float>(),
      "logits (N, classes), labels (N): cross entropy times w (1 - p)^gamma, for the label with\n"
      "probability p and the weight w of class_weights; none: all 1.");
  bind_label_loss(
      layers, "binary_loss", binary_loss,
      "logits and labels (N, K), 0 or 1: mean binary cross entropy of sigmoid(logits).");
  layers.def(
      "huber_loss",
      [](LentGraph& g, const LentValue& prediction, const LentValue& target, float delta) {
        huber_loss(g.get(), prediction.value_in(g), target.value_in(g), delta);
      },
      arg("graph"), arg("prediction"), arg("target"), arg("delta") = 1.0f,
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
  bind_pair(layers, "sub", sub, "a - b");
  bind_pair(layers, "div", div, "a / b");
  layers.def(
      "scale",
      [](LentGraph& g, const LentValue& x, float factor, float offset) {
        return result(x, scale(g.get(), x.value_in(g), factor, offset));
      },
      arg("graph"), arg("x"), arg("factor"), arg("offset") = 0.0f, "factor * x + offset");
  bind_simple(layers, "exp", exp, "Exponential.");
  bind_simple(layers, "log", log, "Natural logarithm.");
  bind_simple(layers, "square", square, "x * x");
  bind_simple(layers, "sqrt", sqrt, "Square root, with an infinite gradient at 0.");
  bind_simple(layers, "abs", abs, "Absolute value, with a gradient of 0 at 0.");
  bind_simple(layers, "softmax", softmax, "Over the last axis.");
  bind_simple(layers, "log_softmax", log_softmax, "Logarithm of softmax, over the last axis.");
  layers.def(
      "cast",
      [](LentGraph& g, const LentValue& x, const std::string& dtype) {
        return result(x, cast(g.get(), x.value_in(g), dtype_from_name(dtype)));
      },
      arg("graph"), arg("x"), arg("dtype"), "dtype: f32, bf16 or f16.");
  bind_over_axis(layers, "sum", sum, "Over one axis, which the result lacks.");
  bind_over_axis(layers, "mean", mean, "Over one axis, which the result lacks.");
  bind_simple(layers, "mean_loss", mean_loss,
              "The sum over the samples of x (N, ..) of their means, for Graph.add_loss().");
  bind_effect(layers, "add_mean_loss", add_mean_loss, "Adds mean_loss(x) as the graph's loss.");
  bind_effect(layers, "mark_score", mark_score, "Makes mean_loss(x) the graph's score.");
}

}  // namespace

void bind_losses(nb::module_& layers) {
  bind_whole_losses(layers);
  bind_parts_of_losses(layers);
}

}  // namespace spire::python
