// The test data of a run as inputs of its model.
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include <spire/commands/input_rows.h>
#include <spire/error.h>

#include "engine/commands/trained_data.h"
#include "engine/data/dataset.h"
#include "engine/run/run_setup.h"

namespace spire::inline inference {
namespace {

// Reads the samples of a dataset in order.
class DatasetRows : public InputRows {
 public:
  // Throws Error(data) where the first column is not that of the model.
  DatasetRows(std::unique_ptr<Dataset> data, const SampleSpec& expected) : data_(std::move(data)) {
    const Column& column = expected.columns[0];
    const Column& found = data_->spec().columns[0];
    if (found.name != column.name || found.shape != column.shape)
      fail(Category::data,
           "the model reads {} {}, but the data has {} {}; use data of that shape, or another "
           "checkpoint",
           column.name, to_string(column.shape), found.name, to_string(found.shape));
  }

  std::vector<RowOrigin> read(int64_t most, std::byte* rows) override {
    std::vector<int64_t> samples(static_cast<size_t>(std::min(most, data_->count() - next_)));
    std::iota(samples.begin(), samples.end(), next_);
    next_ += std::ssize(samples);
    std::vector<std::vector<std::byte>> others;  // labels and the like, read and dropped
    // The first column goes to the caller.
    std::vector<std::byte*> pointers = {rows};
    for (const Column& column : std::span(data_->spec().columns).subspan(1))
      pointers.push_back(others.emplace_back(samples.size() * column.row_bytes()).data());
    if (!samples.empty()) data_->read(samples, 0, pointers);
    std::vector<RowOrigin> origins;
    for (int64_t sample : samples) origins.push_back({.file = {}, .row = sample, .only = false});
    add_truth(std::span(pointers), origins);
    return origins;
  }

 private:
  // columns: of the rows, as the dataset read them.
  void add_truth(std::span<std::byte* const> columns, std::vector<RowOrigin>& origins) const {
    const std::vector<Column>& known = data_->spec().columns;
    for (size_t c = 0; c < known.size(); ++c) {
      auto width = static_cast<size_t>(known[c].shape.elements());
      for (size_t row = 0; row < origins.size(); ++row) {
        if (known[c].name == "labels")
          origins[row].label = reinterpret_cast<const int32_t*>(columns[c])[row];
        const float* values = reinterpret_cast<const float*>(columns[c]) + row * width;
        if (known[c].name == "values") origins[row].values.assign(values, values + width);
      }
    }
  }

  std::unique_ptr<Dataset> data_;
  int64_t next_ = 0;
};

}  // namespace

DatasetPair open_trained_data(const RunConfig& config, const SampleSpec& spec,
                              const std::string& model, bool classes, bool all_test) {
  ReadOptions options = {.dtype = compute_dtype(config),
                         .seed = config.seed,
                         .trained = std::make_shared<SampleSpec>(spec),
                         .all_test = all_test};
  return match_trained_schema(open_dataset(config.data, options), spec, model, classes);
}

TestRows open_test_rows(const RunConfig& config, const SampleSpec& spec, const std::string& model,
                        bool classes, bool all_test) {
  DatasetPair data = open_trained_data(config, spec, model, classes, all_test);
  TestRows test{.rows = nullptr, .notes = std::move(data.notes), .files = {}};
  for (const Dataset* half : {data.train.get(), data.test.get()})
    std::ranges::copy(half->files(), std::back_inserter(test.files));
  test.rows = std::make_unique<DatasetRows>(std::move(data.test), spec);
  return test;
}

}  // namespace spire::inline inference
