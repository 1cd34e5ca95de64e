#include "engine/inference/confusion.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include <spire/error.h>

namespace spire::inline inference {
namespace {

// Writes samples [first, first + count) of the model's column to `rows`; the other columns are
// dropped.
void read_rows(const Dataset& data, int64_t first, int64_t count, std::byte* rows) {
  std::vector<int64_t> samples(static_cast<size_t>(count));
  std::iota(samples.begin(), samples.end(), first);
  std::vector<std::vector<std::byte>> others;
  std::vector<std::byte*> columns = {rows};
  for (const Column& column : std::span(data.spec().columns).subspan(1))
    columns.push_back(others.emplace_back(samples.size() * column.row_bytes()).data());
  data.read(samples, 0, columns);
}

}  // namespace

std::vector<int64_t> confusion_counts(Predictor& predictor, const Dataset& data, int64_t batch,
                                      const std::atomic<bool>* stop) {
  require(predictor.task() == Task::classify, "a confusion matrix of a model without classes");
  const Column &expected = predictor.spec().columns[0], &found = data.spec().columns[0];
  if (expected.name != found.name || expected.shape != found.shape)
    fail(Category::data, "the model reads {} {}, but the data has {} {}", expected.name,
         to_string(expected.shape), found.name, to_string(found.shape));
  auto classes = static_cast<size_t>(predictor.output_shape().elements());
  std::vector<int64_t> counts(classes * classes);
  std::vector<std::byte> rows(static_cast<size_t>(batch) * found.row_bytes());
  std::vector<float> outputs;
  std::vector<int32_t> labels;
  for (int64_t first = 0; first < data.count(); first += batch) {
    if (stop && stop->load()) fail(Category::interrupted, "the evaluation was stopped by a signal");
    int64_t count = std::min(batch, data.count() - first);
    read_rows(data, first, count, rows.data());
    labels.resize(static_cast<size_t>(count));
    data.read_labels(first, labels);
    outputs.resize(static_cast<size_t>(count) * classes);
    predictor.run(rows.data(), count, outputs);
    for (size_t row = 0; row < labels.size(); ++row) {
      auto label = static_cast<size_t>(labels[row]);
      if (label >= classes)
        fail(Category::data, "test sample {} has label {}, and the model knows {} classes",
             first + static_cast<int64_t>(row), labels[row], classes);
      auto begin = outputs.begin() + static_cast<std::ptrdiff_t>(row * classes);
      auto best = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(classes)) - begin;
      ++counts[label * classes + static_cast<size_t>(best)];
    }
  }
  return counts;
}

}  // namespace spire::inline inference
