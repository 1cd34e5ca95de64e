// A model that the calling program defines, used instead of one that model.name names.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spire/export.h>
#include <spire/graph.h>
#include <spire/metric.h>

namespace spire {

// Inputs of a model's graph: one tensor per column of the data, in the columns' order, of shape
// (batch, dimensions of a row).
class SPIRE_API ModelInputs {
 public:
  ModelInputs(std::vector<std::pair<std::string, Value>> values, int64_t batch, int64_t classes)
      : values_(std::move(values)), batch_(batch), classes_(classes) {}

  Value first() const { return values_.front().second; }  // first column: the model's input
  Value find(std::string_view column) const;              // no value if there is no such column
  Value operator[](std::string_view column) const;        // throws Error(config) if there is none
  int64_t batch() const { return batch_; }                // samples of the graph
  int64_t classes() const { return classes_; }            // SampleSpec::classes

 private:
  std::vector<std::pair<std::string, Value>> values_;
  int64_t batch_, classes_;
};

// `layers` and `loss` are called several times for a run, on any thread: for training and for
// evaluation, and for each size of a batch. They must add the same layers and parameters each time.
struct Model {
  std::string name = "own";  // in reports and checkpoints; must not be a value of model.name
  // Adds the layers and returns the model's output. If `loss` is empty, the first of these columns
  // that the data has fixes the output's shape: targets (N, T, classes); values (N, K); masks (N,
  // H, W, classes); target_images: their shape; labels (N, classes); images: their shape.
  std::function<Value(Graph& graph, const ModelInputs& inputs)> layers;
  // Adds a loss by Graph::add_loss(), and the outputs "loss" and "score", fp64 sums over samples,
  // as the losses of layers.h do. Empty: the loss that the config names, for the data's targets.
  std::function<void(Graph& graph, Value output, const ModelInputs& inputs)> loss = {};
  Metric metric = Metric::score;  // with `loss`: what the score means
};

}  // namespace spire
