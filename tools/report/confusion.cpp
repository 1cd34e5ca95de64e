#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <tuple>

#include "engine/base/fail.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "engine/inference/sample_outputs.h"
#include "engine/observe/formatting.h"
#include "engine/observe/page/page.h"
#include "engine/observe/scores.h"
#include "engine/run/run_data.h"
#include "tools/report/run_page.h"

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

using Json = nlohmann::json;

constexpr size_t most_classes = 32;  // of a whole table
constexpr size_t listed_pairs = 20;

Json known(const std::optional<double>& score) {
  return score ? Json(drawn_number(*score)) : Json();
}

// Rows: the true class, the class that was found, how often.
Json pairs_json(const ConfusionMatrix& matrix) {
  size_t classes = matrix.classes.size();
  std::vector<std::tuple<int64_t, size_t, size_t>> pairs;
  for (size_t row = 0; row < classes; ++row)
    for (size_t column = 0; column < classes; ++column)
      if (int64_t count = matrix.counts[row * classes + column]; row != column && count > 0)
        pairs.emplace_back(-count, row, column);
  std::ranges::sort(pairs);
  Json rows = Json::array();
  for (const auto& [count, row, column] : pairs)
    if (rows.size() < listed_pairs)
      rows.push_back({matrix.classes[row], matrix.classes[column], count_text(-count)});
  return rows;
}

std::string caption_of(const ConfusionMatrix& matrix, const std::vector<ClassScore>& scores) {
  int64_t all = 0, right = 0;
  for (const ClassScore& score : scores) {
    all += score.actual;
    right += score.tp;
  }
  auto f1 = f1_macro(scores);
  return fmt::format("Test data by {}: {} of {} right{}{}", matrix.checkpoint, count_text(right),
                     count_text(all), f1 ? fmt::format(", macro F1 {:.4f}", *f1) : "",
                     scores.size() > most_classes ? "; classes most often taken for another" : "");
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

Json confusion_json(const ConfusionMatrix& matrix) {
  size_t classes = matrix.classes.size();
  require(matrix.counts.size() == classes * classes, "{} counts for {} classes",
          matrix.counts.size(), classes);
  std::vector<ClassScore> scores = class_scores(matrix.counts, classes);
  Json json = {{"caption", caption_of(matrix, scores)},
               {"classes", matrix.classes},
               {"counts", matrix.counts},
               {"scores", Json::array()},
               {"wrong", Json::array()}};
  for (const ClassScore& score : scores)
    json["scores"].push_back({{"actual", score.actual},
                              {"recall", known(score.recall())},
                              {"precision", known(score.precision())},
                              {"f1", known(score.f1())}});
  if (classes > most_classes) {
    json["counts"] = json["scores"] = Json::array();
    json["pairs"] = pairs_json(matrix);
  }
  for (const WrongAnswer& answer : matrix.most_wrong)
    json["wrong"].push_back({{"sample", answer.sample},
                             {"actual", matrix.classes.at(answer.actual)},
                             {"found", matrix.classes.at(answer.found)},
                             {"sure", drawn_number(answer.sure)},
                             {"png", base64(answer.png)}});
  return json;
}

}  // namespace spire
