// trainer predict: classes, values or images for the test data or for files, or text after a
// prompt.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>

#include <CLI/CLI.hpp>

#include <spire/load_config.h>
#include <spire/text_generator.h>
#include <spire/trained_model.h>

#include "engine/base/fail.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_source.h"
#include "tools/output/streams.h"
#include "tools/predict/prediction_rows.h"
#include "tools/predict/text_generation.h"
#include "tools/process/signals.h"

namespace spire {

namespace {

// Options for language models.
void add_text_options(CLI::App& app, PredictArguments& p) {
  auto* prompt = app.add_option("--prompt", p.prompt,
                                "language models: the text to continue; several: --prompt A "
                                "--prompt B, which are answered as --prompts are");
  prompt->allow_extra_args(false)->type_name("TEXT");
  app.add_option(
         "--prompt-file", p.prompt_file,
         "language models: file with the text to continue, without its last newline; -: stdin")
      ->excludes(prompt)
      ->type_name("FILE");
  app.add_option("--prompts", p.prompts,
                 "language models: file of several texts to continue, one a line; *.jsonl: "
                 "{\"prompt\": \"text\"} a line. --batch of them are continued at once. A line of "
                 "JSON answers each, in their order")
      ->excludes(prompt)
      ->excludes("--prompt-file")
      ->type_name("FILE");
  app.add_flag(
      "--stream", p.stream,
      "language models: of several prompts, write lines of JSON with parts of the texts as "
      "they come");
  app.add_option("--tokens", p.text.tokens, "language models: tokens to generate")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--temperature", p.text.temperature,
                 "language models: temperature of sampling; 0: always the most likely token")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("X");
  app.add_option("--top-k", p.text.top_k,
                 "language models: sample from the K most likely tokens; 0: from all")
      ->check(integer_between(0, 1'000'000))
      ->type_name("K");
  app.add_option("--top-p", p.text.top_p,
                 "language models: sample from the fewest most likely tokens whose probabilities "
                 "reach P; 1: from all")
      ->type_name("P");
  app.add_option("--stop", p.text.stop,
                 "language models: end the text before this one; several: --stop A --stop B")
      ->allow_extra_args(false)
      ->type_name("TEXT");
  app.add_option("--unknown", p.unknown,
                 "language models: a character of the prompt that the vocabulary lacks stops the "
                 "command (the default), or is left out")
      ->check(CLI::IsMember({"stop", "skip"}))
      ->type_name("stop|skip");
}

namespace fs = std::filesystem;

constexpr int64_t rows_at_once = 64, texts_at_once = 8;  // where --batch is not given

bool all_finite(std::span<const float> numbers) {
  return std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); });
}

// Computes batch by batch and calls take(origin, input row, output row) for each sample that has
// finite outputs. Returns the number of these.
template <typename Take>
int64_t predict_all(TrainedModel& model, PredictionInputs& inputs,
                    const PredictArguments& arguments, const StopSignals& signals,
                    const Take& take) {
  auto outputs = static_cast<size_t>(model.output_shape().elements());
  size_t row_bytes = model.data().columns[0].row_bytes();
  int64_t batch = arguments.batch.value_or(rows_at_once);
  std::vector<std::byte> input(static_cast<size_t>(batch) * row_bytes);
  std::vector<float> out;
  int64_t most = arguments.count == 0 ? std::numeric_limits<int64_t>::max() : arguments.count;
  int64_t done = 0, taken = 0;
  while (done < most) {
    if (signals.flag()->load()) fail(Category::interrupted, "predictions stopped by a signal");
    auto origins = inputs.rows().read(std::min(batch, most - done), input.data());
    if (origins.empty()) break;
    out.resize(origins.size() * outputs);
    model.predict(input.data(), std::ssize(origins), out);
    for (size_t row = 0; row < origins.size(); ++row) {
      std::span<const float> found = std::span<const float>(out).subspan(row * outputs, outputs);
      if (!all_finite(found)) {
        inputs.take_diverged(origins[row]);
        continue;
      }
      take(origins[row], input.data() + row * row_bytes, found);
      ++taken;
    }
    done += std::ssize(origins);
  }
  return taken;
}

void predict_rows(TrainedModel& model, PredictionInputs& inputs, const PredictArguments& arguments,
                  TextOutput& output, const StopSignals& signals) {
  RowFormat format = {.json = arguments.format == "json",
                      .files = !arguments.inputs.empty(),
                      .truth = inputs.rows().names_tell_truth()};
  PredictionRows rows(model.data(), model.task(), model.output_shape().elements(), format);
  TruthSummary truth(model.task(), model.config().loss);
  int64_t count =
      predict_all(model, inputs, arguments, signals,
                  [&](const RowOrigin& origin, const std::byte*, std::span<const float> outputs) {
                    rows.add(origin, outputs);
                    truth.add(origin, outputs);
                    output.write(rows.text());
                  });
  inputs.finish(count);
  output.write(rows.finish());
  output.finish();
  if (truth.rows() > 0) inputs.tell(truth.text());
}

// Unique file names for the images of a prediction.
class ImageNames {
 public:
  // Returns the input's name without its extension: with the row where a file has several rows,
  // with a number where another input had that name. For test data it is the sample's number.
  std::string of(const RowOrigin& origin) {
    std::string stem = fs::path(origin.file.name).replace_extension().string();
    if (!origin.only) stem += fmt::format("{}{:06d}", stem.empty() ? "" : "_", origin.row);
    std::string name = stem;
    for (int64_t i = 2; taken_.contains(name) || taken_.contains(result_of(name)); ++i)
      name = fmt::format("{}_{}", stem, i);
    taken_.insert({name, result_of(name)});
    return name;
  }
  static std::string result_of(const std::string& name) { return name + "_result"; }

 private:
  std::set<std::string> taken_;
};

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(Category::config, "--to {}: {}", folder.string(), error.message());
}

// Writes two PNG files per sample: the input image and what the model made of it side by side, and
// the latter alone.
void predict_images(TrainedModel& model, PredictionInputs& inputs, const Arguments& given,
                    const InputFiles& read, const StopSignals& signals) {
  const PredictArguments& arguments = given.predict;
  fs::path folder = arguments.to.empty() ? "predictions" : arguments.to;
  make_folder(folder);
  ImageNames names;
  auto target = [&](const std::string& name) {
    fs::path file = folder / (name + ".png");
    read.refuse_as_target(file);
    make_folder(file.parent_path());
    return file;
  };
  auto write = [&](const RowOrigin& origin, const std::byte* input, std::span<const float> output) {
    std::string name = names.of(origin);
    model.write_comparison(target(name), input, output, given.overwrite);
    model.write_result(target(ImageNames::result_of(name)), output, given.overwrite);
  };
  int64_t count = predict_all(model, inputs, arguments, signals, write);
  inputs.finish(count);
  print_result("{} images in {}\n", count, folder.string());
}

// Throws Error(config) for a prompt without a language model, and for inputs with one.
void check_words(const PredictArguments& asked, bool text, const std::string& data) {
  bool prompt = !asked.prompt.empty();
  if (!text && (prompt || asked.prompt_file || asked.prompts))
    fail(
        Category::config,
        "{} works with language models only, and this model was trained on {}; give inputs instead",
        prompt          ? "--prompt"
        : asked.prompts ? "--prompts"
                        : "--prompt-file",
        data);
  if (text && !asked.inputs.empty())
    fail(Category::config,
         "{}: a language model takes no input files; give the text to continue by --prompt or "
         "--prompt-file",
         asked.inputs[0]);
  if (asked.stream && !asked.prompts && asked.prompt.size() < 2)
    fail(Category::config,
         "--stream: is for several prompts, --prompts FILE or --prompt A --prompt B; the text of "
         "one "
         "comes as it is written without it");
}

// The device that --device names, else the word devices=... among those of the config. The run's
// own devices are many at times, and elsewhere.
std::string device_of(const Arguments& arguments) {
  if (arguments.predict.device != "auto") return arguments.predict.device;
  for (const std::string& word : arguments.overrides) {
    if (!word.starts_with("devices=")) continue;
    std::vector<std::string> devices = parse_config({}, {word}).config.devices;
    if (devices.size() > 1)
      fail(Category::config, "{}: predictions are computed on one device; name one", word);
    return devices[0];
  }
  return "auto";
}

// The prompts of a language model. They may come from a pipe. packed: its texts are documents,
// which may begin with nothing.
std::vector<std::string> prompts_of(const PredictArguments& asked, bool packed) {
  if (asked.prompts) return read_prompts(*asked.prompts);
  if (!asked.prompt.empty()) return asked.prompt;
  if (packed && !asked.prompt_file) return {""};
  return {read_prompt(asked)};
}

// A target of --to is opened before anything is computed, so that a bad one fails early.
TextOutput open_output(const Arguments& arguments, const InputFiles& read,
                       const StopSignals& signals) {
  const std::string& to = arguments.predict.to;
  if (!to.empty()) read.refuse_as_target(to);
  return TextOutput(to, arguments.overwrite, signals.flag());
}

void predict_text(const Arguments& arguments, const NamedRun& run, const InputFiles& read) {
  const PredictArguments& asked = arguments.predict;
  // Before StopSignals: the prompt may come from a pipe, and a signal must end the wait for it.
  std::vector<std::string> prompts =
      prompts_of(asked, run.checkpoint->data().find("positions") != nullptr);
  TextOptions options = asked.text;
  options.device = device_of(arguments);
  options.seed = run.resolved.config.seed;
  options.texts = std::min(asked.batch.value_or(texts_at_once), std::ssize(prompts));
  options.settings = &run.resolved.config;
  options.say = line_printer(arguments);
  TextGenerator generator(*run.checkpoint, options);
  StopSignals signals(StopSignals::ending);
  // From begin_work() on a signal sets the flag, which each batch and each token checks.
  signals.begin_work();
  TextGeneration generation(generator, arguments, signals);
  TextOutput output = open_output(arguments, read, signals);
  bool several = asked.prompts || prompts.size() > 1;
  several ? generation.write_texts(prompts, asked.stream, output)
          : generation.write_text(prompts[0], output);
}

}  // namespace

void add_predict_options(CLI::App& app, ParsedWords& words) {
  Arguments& a = words.arguments;
  PredictArguments& p = a.predict;
  app.add_option("--seed", words.seed, "seed of generated text; the same as seed=N")
      ->type_name("N");
  app.add_option("--checkpoint", p.checkpoint,
                 "a run's directory (its best), a checkpoint file, or best or latest of the run in "
                 "output=DIR; without this option the first INPUT")
      ->type_name("RUN|FILE|best|latest");
  // Inputs and keys are both words; arguments.cpp tells them apart.
  app.add_option(
         "words", a.overrides,
         "the run, unless --checkpoint names it, and what to predict for: images (JPEG, PNG), "
         "folders of them, IDX, CSV, .npy, .npz or HDF5 "
         "files; "
         "without any: the run's test data. A word KEY.PATH=VALUE changes a config key, "
         "such as data.path of the test data; for a file whose name looks like that, write ./NAME")
      ->type_name("INPUT");
  app.add_option("--device", p.device, "where to compute: cpu, or a GPU such as cuda:0")
      ->type_name("DEVICE");
  app.add_option("--batch", p.batch,
                 "samples computed at a time (64), or texts written at once (8)")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--count", p.count, "predict only the first N samples; otherwise all")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--on-error", p.on_error,
                 "an input, or a row of one, that cannot be read stops the command (the default), "
                 "or is skipped")
      ->check(CLI::IsMember({"stop", "skip"}))
      ->type_name("stop|skip");
  app.add_option("--format", p.format, "format of class probabilities and values")
      ->check(CLI::IsMember({"csv", "json"}))
      ->type_name("csv|json");
  app.add_option("--to", p.to, "file to write; for images the folder, ./predictions by default")
      ->type_name("PATH");
  app.add_flag("--overwrite", a.overwrite, "replace files that are there and hold something");
  add_text_options(app, p);
  add_log_options(app, a);
}

int run_predict(const Arguments& arguments) {
  const PredictArguments& asked = arguments.predict;
  auto run = read_named_run(arguments, asked.checkpoint, CheckpointChoice::best);
  if (!run) return 0;
  refuse_other_reading(*run, arguments);
  const RunConfig& config = run->resolved.config;
  bool text = run->checkpoint->data().find("targets") != nullptr;  // a language model
  check_words(asked, text, config.data.name);
  InputFiles read;
  read.add(run->checkpoint->path());
  if (asked.prompt_file) read.add(*asked.prompt_file);
  if (text && asked.prompts) read.add(*asked.prompts);
  if (text) {
    predict_text(arguments, *run, read);
    return 0;
  }
  TrainedModel model(*run->checkpoint, {.device = device_of(arguments),
                                        .batch = asked.batch.value_or(rows_at_once),
                                        .settings = &config,
                                        .say = line_printer(arguments)});
  StopSignals signals(StopSignals::ending);
  bool classes = model.task() == ModelTask::classify || model.task() == ModelTask::segment;
  PredictionInputs inputs(config, model.data(), classes, arguments,
                          takes_other_data(*run, arguments), read);
  signals.begin_work();
  if (model.makes_images()) {
    predict_images(model, inputs, arguments, read, signals);
  } else {
    TextOutput output = open_output(arguments, read, signals);
    predict_rows(model, inputs, asked, output, signals);
  }
  return 0;
}

}  // namespace spire
