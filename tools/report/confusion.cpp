#include "tools/report/confusion.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include <spire/error.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/inference/sample_images.h"
#include "engine/run/trained_data.h"

namespace spire {
namespace {

constexpr int64_t rows_at_a_time = 64;

// The share that softmax gives the largest output.
double softmax_of_largest(std::span<const float> outputs) {
  double largest = double{*std::ranges::max_element(outputs)}, sum = 0;
  for (float output : outputs) sum += std::exp(double{output} - largest);
  return 1 / sum;
}

// Keeps the answers of which the model was most sure, the surest first; of equal ones the earlier.
void keep_if_sure(WrongAnswer answer, const SampleSpec& spec, const Column& column,
                  const std::byte* row, std::vector<WrongAnswer>& kept) {
  constexpr size_t most = 16;
  auto place =
      std::ranges::upper_bound(kept, answer.sure, std::ranges::greater{}, &WrongAnswer::sure);
  if (place == kept.end() && kept.size() == most) return;
  if (column.shape.rank() == 3) answer.png = png_bytes(image_of(spec, column, row));
  kept.insert(place, std::move(answer));
  if (kept.size() > most) kept.pop_back();
}

}  // namespace

ConfusionMatrix confusion_of(Predictor& predictor, const Dataset& data, int64_t batch,
                             const std::atomic<bool>* stop) {
  require(predictor.task() == Task::classify, "a confusion matrix of a model without classes");
  const Column &expected = predictor.spec().columns[0], &found = data.spec().columns[0];
  if (expected.name != found.name || expected.shape != found.shape)
    fail(Category::data, "the model reads {} {}, but the data has {} {}", expected.name,
         to_string(expected.shape), found.name, to_string(found.shape));
  const Column* labelled = data.spec().find("labels");
  require(labelled != nullptr, "a confusion matrix of data without labels");
  auto classes = static_cast<size_t>(predictor.output_shape().elements());
  ConfusionMatrix matrix;
  matrix.counts.resize(classes * classes);
  SampleBuffer samples;
  std::vector<float> outputs;
  for (int64_t first = 0; first < data.count(); first += batch) {
    if (stop && stop->load()) fail(Category::interrupted, "the evaluation was stopped by a signal");
    int64_t count = std::min(batch, data.count() - first);
    samples.read(data, sequence(first, count));
    // Labels of the same read: another sample may stand for a corrupt one (data.on_error: skip).
    const auto* labels = reinterpret_cast<const int32_t*>(
        samples.columns[static_cast<size_t>(labelled - data.spec().columns.data())].data());
    outputs.resize(static_cast<size_t>(count) * classes);
    predictor.run(samples.columns[0].data(), count, outputs);
    for (size_t row = 0; row < static_cast<size_t>(count); ++row) {
      auto label = static_cast<size_t>(labels[row]);
      int64_t sample = first + static_cast<int64_t>(row);
      if (label >= classes)
        fail(Category::data, "test sample {} has label {}, and the model knows {} classes", sample,
             labels[row], classes);
      auto own = std::span<const float>(outputs).subspan(row * classes, classes);
      auto best = static_cast<size_t>(std::ranges::max_element(own) - own.begin());
      ++matrix.counts[label * classes + best];
      if (best != label)
        keep_if_sure({sample, label, best, softmax_of_largest(own), {}}, predictor.spec(), found,
                     samples.columns[0].data() + row * found.row_bytes(), matrix.most_wrong);
    }
  }
  return matrix;
}

ConfusionMatrix count_confusions(const Checkpoint& checkpoint, const RunConfig& config,
                                 const std::string& name, const std::string& device,
                                 const std::atomic<bool>* stop,
                                 const std::function<void(std::string_view)>& say) {
  const LoadedCheckpoint& loaded = *checkpoint.loaded();
  Predictor predictor(loaded.state, *loaded.tensors,
                      {.device = device, .batch = rows_at_a_time, .settings = &config, .say = say});
  if (predictor.task() != Task::classify)
    fail(Category::config,
         "--evaluate counts classes, and this model finds none; trainer eval --checkpoint {} "
         "measures it",
         name);
  DatasetPair data = open_trained_data(config, predictor.spec(), name, true);
  ConfusionMatrix matrix = confusion_of(predictor, *data.test, rows_at_a_time, stop);
  matrix.checkpoint = checkpoint.path().filename().string();
  const auto& names = predictor.spec().class_names;
  auto classes = static_cast<size_t>(predictor.output_shape().elements());
  for (size_t i = 0; i < classes; ++i)
    matrix.classes.push_back(i < names.size() ? names[i] : std::to_string(i));
  return matrix;
}

}  // namespace spire
