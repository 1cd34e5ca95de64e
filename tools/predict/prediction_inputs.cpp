#include "tools/predict/prediction_inputs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <unistd.h>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/base/read_file.h"
#include "engine/data/dataset.h"
#include "engine/run/run_setup.h"

namespace spire::tool {

namespace {

constexpr size_t max_prompt_bytes = 1 << 20;

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

PredictionInputs::PredictionInputs(const RunConfig& config, const SampleSpec& spec, bool classes,
                                   const Arguments& arguments, InputFiles& read)
    : skip_(arguments.predict.on_error == "skip"), silent_(arguments.log_level == "error") {
  if (arguments.predict.inputs.empty()) {
    if (arguments.predict.on_error)
      fail(Category::config,
           "--on-error works with inputs only; for the test data set data.on_error=skip");
    ReadOptions options = {.dtype = compute_dtype(config),
                           .seed = config.seed,
                           .trained = std::make_shared<SampleSpec>(spec)};
    DatasetPair data = match_trained_schema(open_dataset(config.data, options), spec,
                                            arguments.predict.checkpoint, classes);
    for (const std::string& note : data.notes) warn(note);
    for (const Dataset* half : {data.train.get(), data.test.get()})
      for (const std::filesystem::path& file : half->files()) read.add(file);
    rows_ = std::make_unique<DatasetRows>(std::move(data.test), spec);
    return;
  }
  // The files are listed before the first is read, so that a bad name ends the command early.
  InputReport report = {.problem = [this](const std::string& text) { take_problem(text); },
                        .note = [this](const std::string& text) { warn(text); }};
  std::vector<ListedInput> files = list_inputs(arguments.predict.inputs, spec, report);
  for (const ListedInput& file : files) read.add(file.path);
  rows_ = open_inputs(std::move(files), spec, config.data, report);
}

void PredictionInputs::take_problem(const std::string& problem) {
  if (!skip_) fail(Category::data, "{}, or add --on-error skip to leave such inputs out", problem);
  ++skipped_;
  warn(problem + "; left out");
}

void PredictionInputs::warn(const std::string& text) const {
  if (!silent_) print_log("warning: {}\n", text);
}

void PredictionInputs::finish(int64_t read) const {
  if (skipped_ > 0) warn(fmt::format("{} left out", counted(skipped_, "input")));
  if (read == 0)
    fail(Category::data, "none of the inputs could be read{}",
         silent_ || skipped_ == 0 ? "" : "; the warnings above say why");
}

void PredictionInputs::tell(const std::string& truth) const {
  if (!silent_) print_log("truth: {}\n", truth);
}

std::string read_prompt(const PredictArguments& arguments) {
  if (!arguments.prompt_file) return "\n";
  std::string text;
  try {
    text = *arguments.prompt_file == "-"
               ? read_stream(STDIN_FILENO, "-", Category::data, max_prompt_bytes)
               : read_stream(*arguments.prompt_file, Category::data, max_prompt_bytes);
  } catch (const Error& error) {
    fail(Category::data, "--prompt-file {}", error.what());
  }
  // Editors end a file with a line end, which the user did not mean as text.
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace spire::tool
