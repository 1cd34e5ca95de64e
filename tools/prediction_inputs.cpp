#include "prediction_inputs.h"

#include <spire/base/error.h>
#include <spire/data/fit_to.h>
#include <spire/train/run_setup.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace spire::tool {

namespace {

// The samples of a dataset in its order.
class DatasetRows : public InputRows {
 public:
  DatasetRows(std::unique_ptr<Dataset> data, const SampleSpec& expected) : data_(std::move(data)) {
    const Column& column = expected.columns[0];
    const Column& found = data_->spec().columns[0];
    if (found.name != column.name || found.shape != column.shape)
      fail(Category::data, "the model reads {} {}, the data has {} {}", column.name,
           to_string(column.shape), found.name, to_string(found.shape));
  }

  std::vector<RowOrigin> read(int64_t most, std::byte* rows) override {
    std::vector<int64_t> samples(static_cast<size_t>(std::min(most, data_->count() - next_)));
    std::iota(samples.begin(), samples.end(), next_);
    next_ += std::ssize(samples);
    std::vector<std::vector<std::byte>> others;  // labels and their like, which nobody looks at
    std::vector<std::byte*> pointers = {rows};
    for (const Column& column : std::span(data_->spec().columns).subspan(1))
      pointers.push_back(others.emplace_back(samples.size() * column.row_bytes()).data());
    if (!samples.empty()) data_->read(samples, 0, pointers);
    std::vector<RowOrigin> origins;
    for (int64_t sample : samples) origins.push_back({.file = {}, .row = sample, .only = false});
    return origins;
  }

 private:
  std::unique_ptr<Dataset> data_;
  int64_t next_ = 0;
};

}  // namespace

PredictionInputs::PredictionInputs(const RunConfig& config, const SampleSpec& spec, bool classes,
                                   const Arguments& arguments)
    : skip_(arguments.predict.on_error == "skip"), silent_(arguments.log_level == "error") {
  if (arguments.predict.inputs.empty()) {
    if (arguments.predict.on_error)
      fail(Category::config,
           "--on-error is for inputs of your own; for the test data give data.on_error=skip");
    ReadOptions options = {compute_dtype(config), config.seed};
    DatasetPair data =
        fit_to(open_dataset(config.data, options), spec, arguments.predict.checkpoint, classes);
    for (const std::string& note : data.notes) warn(note);
    rows_ = std::make_unique<DatasetRows>(std::move(data.test), spec);
    return;
  }
  InputReport report = {.problem = [this](const std::string& text) { take_problem(text); },
                        .note = [this](const std::string& text) { warn(text); }};
  std::vector<ListedInput> files = list_inputs(arguments.predict.inputs, spec, report);
  for (const ListedInput& file : files) files_.insert(std::filesystem::weakly_canonical(file.path));
  rows_ = open_inputs(std::move(files), spec, config.data, report);
}

void PredictionInputs::take_problem(const std::string& problem) {
  if (!skip_) fail(Category::data, "{}, or leave such inputs out by --on-error skip", problem);
  ++skipped_;
  warn(problem + "; left out");
}

void PredictionInputs::warn(const std::string& text) const {
  if (!silent_) fmt::print(stderr, "warning: {}\n", text);
}

void PredictionInputs::check_target(const std::filesystem::path& path) const {
  if (files_.contains(std::filesystem::weakly_canonical(path)))
    fail(Category::config, "--to: {} is one of the inputs; write somewhere else", path.string());
}

void PredictionInputs::finish(int64_t read) const {
  if (skipped_ > 0) warn(fmt::format("{} inputs left out", skipped_));
  if (read == 0) fail(Category::data, "none of the inputs could be read");
}

}  // namespace spire::tool
