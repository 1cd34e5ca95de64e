// The test data of a run as inputs of its model.
#include <algorithm>
#include <utility>

#include <spire/trained_model.h>

#include "engine/base/fail.h"
#include "engine/data/dataset.h"
#include "engine/run/run_data.h"
#include "engine/run/run_setup.h"

namespace spire {
namespace {

// Reads the samples of a dataset in order.
class DatasetRows : public InputRows {
 public:
  // Throws Error(data) where the first column is not that of the model.
  DatasetRows(std::unique_ptr<Dataset> data, const SampleSpec& expected) : data_(std::move(data)) {
    const Column& column = expected.columns[0];
    const Column& found = data_->spec().columns[0];
    require(found.dtype == column.dtype, "test data in the dtype of the model's inputs");
    if (found.name != column.name || found.shape != column.shape)
      fail(Category::data,
           "the model reads {} {}, but the data has {} {}; use data of that shape, or another "
           "checkpoint",
           column.name, to_string(column.shape), found.name, to_string(found.shape));
  }

  // A sample that cannot be read (data.on_error: skip) is left out, where Dataset::read() puts the
  // next one in its place: the rows are read one by one, to know which.
  std::vector<RowOrigin> read(int64_t most, std::byte* rows) override {
    size_t row_bytes = data_->spec().columns[0].row_bytes();
    std::vector<RowOrigin> origins;
    while (next_ < data_->count() && std::ssize(origins) < most) {
      int64_t skipped = data_->skipped();
      sample_.read(*data_, {&next_, 1});
      if (int64_t found_corrupt = data_->skipped() - skipped; found_corrupt > 0) {
        next_ += found_corrupt;  // this one and its neighbours
        continue;
      }
      std::ranges::copy(sample_.columns[0], rows + origins.size() * row_bytes);
      origins.push_back(truth_of(next_++));
    }
    return origins;
  }
  std::string left_out() const override {
    return data_->skipped() > 0 ? left_out_text(*data_) : "";
  }

 private:
  // Of the sample that was read last.
  RowOrigin truth_of(int64_t number) const {
    RowOrigin origin = {.file = {}, .row = number, .only = false};
    const std::vector<Column>& columns = data_->spec().columns;
    for (size_t c = 0; c < columns.size(); ++c) {
      const std::byte* row = sample_.columns[c].data();
      const auto* values = reinterpret_cast<const float*>(row);
      if (columns[c].name == "labels") origin.label = *reinterpret_cast<const int32_t*>(row);
      if (columns[c].name == "values")
        origin.values.assign(values, values + columns[c].shape.elements());
    }
    return origin;
  }

  std::unique_ptr<Dataset> data_;
  int64_t next_ = 0;
  SampleBuffer sample_;
};

}  // namespace

DatasetPair open_trained_data(const RunConfig& config, const SampleSpec& spec,
                              const std::string& model, bool classes, bool all_test) {
  // The model reads its inputs in the dtype of `spec`, whatever it computes in.
  DType of_inputs = spec.columns[0].dtype;
  ReadOptions options = {.dtype = of_inputs == DType::i32 ? compute_dtype(config) : of_inputs,
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

}  // namespace spire
