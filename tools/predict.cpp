// trainer predict: what a trained model says of the test data or of files, or the text it goes on
// with.
#include <spire/base/atomic_file.h>
#include <spire/base/error.h>
#include <spire/config/load.h>
#include <spire/data/picture.h>
#include <spire/data/vocabulary.h>
#include <spire/train/checkpoint_file.h>
#include <spire/train/checkpoint_store.h>
#include <spire/train/generate.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>

#include "commands.h"
#include "prediction_inputs.h"
#include "prediction_rows.h"
#include "prompt.h"
#include "signals.h"

namespace spire::tool {

namespace {

namespace fs = std::filesystem;

// A file, or the best checkpoint of a run directory.
LoadedCheckpoint find_checkpoint(const fs::path& path) {
  if (!fs::is_directory(path)) return {path, read_checkpoint(path)};
  bool is_store = path.filename() == "checkpoints";
  CheckpointStore store(is_store ? path : path / "checkpoints", {});
  if (auto best = store.best()) return {*best, read_checkpoint(*best)};
  auto newest = store.newest_good([](const fs::path&, const std::string&) {});
  if (newest) return std::move(*newest);
  fail(Category::checkpoint, "{} holds no checkpoint; give the output directory of a run",
       path.string());
}

// Keys from the command line in the config that the checkpoint was trained with.
RunConfig changed_config(const TrainingState& state, const std::vector<std::string>& overrides) {
  return parse_config({{"the checkpoint's config", state.config_yaml}}, overrides).config;
}

// Calls take(origin, input row, output row) for each sample; returns their number.
template <typename Take>
int64_t predict_all(Predictor& predictor, InputRows& rows, const PredictArguments& arguments,
                    const StopSignals& signals, const Take& take) {
  auto outputs = static_cast<size_t>(predictor.output_shape().elements());
  size_t row_bytes = predictor.spec().columns[0].row_bytes();
  std::vector<std::byte> input(static_cast<size_t>(arguments.batch) * row_bytes);
  std::vector<float> out;
  int64_t most = arguments.count == 0 ? std::numeric_limits<int64_t>::max() : arguments.count;
  int64_t done = 0;
  while (done < most) {
    if (signals.flag()->load()) fail(Category::interrupted, "predictions stopped by a signal");
    auto origins = rows.read(std::min(arguments.batch, most - done), input.data());
    if (origins.empty()) break;
    out.resize(origins.size() * outputs);
    predictor.run(input.data(), std::ssize(origins), out);
    for (size_t row = 0; row < origins.size(); ++row)
      take(origins[row], input.data() + row * row_bytes,
           std::span<const float>(out).subspan(row * outputs, outputs));
    done += std::ssize(origins);
  }
  return done;
}

// A file, or stdout. The file is there when all is written.
class TextOutput {
 public:
  explicit TextOutput(const std::string& to) {
    if (!to.empty()) file_.emplace(to, Category::config);
  }
  void write(const std::string& text) { file_ ? file_->write(text) : fmt::print("{}", text); }
  void finish() {
    if (file_) file_->commit();
  }

 private:
  std::optional<AtomicWriter> file_;
};

void predict_rows(Predictor& predictor, PredictionInputs& inputs, const PredictArguments& arguments,
                  const StopSignals& signals) {
  RowFormat format = {.json = arguments.format == "json", .files = !arguments.inputs.empty()};
  PredictionRows rows(predictor.spec(), predictor.task(), predictor.output_shape().elements(),
                      format);
  if (!arguments.to.empty()) inputs.check_target(arguments.to);
  TextOutput output(arguments.to);
  int64_t count =
      predict_all(predictor, inputs.rows(), arguments, signals,
                  [&](const RowOrigin& origin, const std::byte*, std::span<const float> outputs) {
                    rows.add(origin, outputs);
                    output.write(rows.text());
                  });
  inputs.finish(count);
  output.write(rows.finish());
  output.finish();
}

// Where the pictures of a folder's inputs go.
class PictureNames {
 public:
  // The input's name with .png at its end, and the row, where a file has several; with a number
  // when another input had that name. Of the test data: the sample's number.
  fs::path of(const RowOrigin& origin) {
    std::string stem = fs::path(origin.file.name).replace_extension().string();
    if (!origin.only) stem += fmt::format("{}{:06d}", stem.empty() ? "" : "_", origin.row);
    std::string name = stem;
    for (int64_t i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
    return name + ".png";
  }

 private:
  std::set<std::string> taken_;
};

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(Category::config, "--to {}: {}", folder.string(), error.message());
}

// A file a sample: the image, and what the model made of it, side by side.
void predict_pictures(Predictor& predictor, PredictionInputs& inputs,
                      const PredictArguments& arguments, const StopSignals& signals) {
  fs::path folder = arguments.to.empty() ? "predictions" : arguments.to;
  make_folder(folder);
  const Column& column = predictor.spec().columns[0];
  const Normalization& normalization = predictor.spec().normalization;
  std::vector<float> image(static_cast<size_t>(column.shape.elements()));
  PictureNames names;
  auto write = [&](const RowOrigin& origin, const std::byte* input, std::span<const float> output) {
    copy_floats(input, column.dtype, image);
    fs::path file = folder / names.of(origin);
    inputs.check_target(file);
    make_folder(file.parent_path());
    write_png(file, grid_of({picture_of(image, column.shape, normalization),
                             picture_of(output, column.shape, normalization)},
                            2));
  };
  int64_t count = predict_all(predictor, inputs.rows(), arguments, signals, write);
  inputs.finish(count);
  fmt::print("{} pictures in {}\n", count, folder.string());
}

void generate_text(Predictor& predictor, const PredictArguments& arguments, uint64_t seed) {
  if (predictor.spec().vocabulary.empty())
    fail(Category::data, "the model was trained on tokens without a vocabulary: there is no text");
  auto vocabulary = make_vocabulary(predictor.spec().vocabulary);
  std::string prompt = read_prompt(arguments);
  GenerateOptions options{.tokens = arguments.tokens,
                          .temperature = arguments.temperature,
                          .top_k = arguments.top_k,
                          .seed = seed};
  auto ids = generate(predictor_pass(predictor), vocabulary->encode(prompt), options);
  TextOutput output(arguments.to);
  output.write(prompt + vocabulary->decode(ids) + "\n");
  output.finish();
}

// Language models go on from a prompt, others predict for inputs.
void check_words(const PredictArguments& asked, bool text, const std::string& data) {
  if (!text && (asked.prompt || asked.prompt_file))
    fail(Category::config, "{} is for language models; this one was trained on {}",
         asked.prompt ? "--prompt" : "--prompt-file", data);
  if (text && !asked.inputs.empty())
    fail(Category::config,
         "{}: this is a language model, which goes on from text; give it by --prompt or "
         "--prompt-file",
         asked.inputs[0]);
}

}  // namespace

int run_predict(const Arguments& arguments) {
  const PredictArguments& asked = arguments.predict;
  LoadedCheckpoint checkpoint = find_checkpoint(asked.checkpoint);
  RunConfig config = changed_config(checkpoint.state, arguments.overrides);
  SampleSpec spec = sample_spec_from_text(checkpoint.state.data_spec);
  bool text = spec.columns[0].name == "tokens";
  check_words(asked, text, config.data.name);
  Predictor predictor(checkpoint.state, {.device = asked.device, .batch = text ? 1 : asked.batch});
  StopSignals signals(StopSignals::ending);
  if (text) {
    generate_text(predictor, asked, config.seed);
    return 0;
  }
  bool classes = predictor.task() == Task::classify;
  PredictionInputs inputs(config, predictor.spec(), classes, arguments);
  if (predictor.task() == Task::reconstruct) {
    predict_pictures(predictor, inputs, asked, signals);
  } else {
    predict_rows(predictor, inputs, asked, signals);
  }
  return 0;
}

}  // namespace spire::tool
