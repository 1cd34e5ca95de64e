// trainer export: writes a trained model in the form that other programs read.
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include <spire/error.h>

#include "build_info.h"
#include "engine/observe/formatting.h"
#include "engine/onnx/export_onnx.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_source.h"
#include "tools/output/streams.h"
#include "tools/process/signals.h"

namespace spire::tool {

namespace {

namespace fs = std::filesystem;

// What the formats' writers have in common.
struct ExportJob {
  const ExportArguments& asked;
  fs::path to;
  const RunConfig& config;
  const LoadedCheckpoint& checkpoint;
  Existing existing;
  const std::atomic<bool>* stop;
};

void print_written(const ExportJob& job, const ExportedOnnx& exported) {
  const WrittenOnnx& file = exported.file;
  TextTable files = {{job.to.string(), bytes_text(static_cast<int64_t>(file.bytes))}};
  if (!file.data.empty())
    files.push_back({file.data.string(), bytes_text(static_cast<int64_t>(file.data_bytes))});
  Sections sections;
  sections.add("written", files);
  sections.add("input", to_string(exported.input));
  sections.add("output", to_string(exported.output));
  sections.add("weights",
               fmt::format("{} numbers in {} tensors{}, of step {}", count_text(exported.numbers),
                           exported.tensors, exported.averaged ? ", averaged (ema)" : "",
                           count_text(job.checkpoint.state.step)));
  print_result("{}", sections.text());
}

void export_as_onnx(const ExportJob& job) {
  OnnxOptions options;
  options.opset = job.asked.opset.value_or(default_opset);
  options.batch = job.asked.batch;
  options.averaged = job.asked.ema;
  options.file.existing = job.existing;
  if (job.asked.external_data) options.file.weights = WeightPlace::beside;
  options.producer_version = build_info::version;
  options.stop = job.stop;
  print_written(
      job, export_onnx(job.to, job.config, job.checkpoint.state, *job.checkpoint.tensors, options));
}

struct ExportFormat {
  std::string_view ending;
  void (*write)(const ExportJob&);
};
constexpr ExportFormat export_formats[] = {{".onnx", export_as_onnx}};

const ExportFormat& format_of(const fs::path& to) {
  std::vector<std::string_view> endings;
  for (const ExportFormat& format : export_formats) {
    if (to.extension() == format.ending) return format;
    endings.push_back(format.ending);
  }
  fail(Category::config, "--to {}: the file's ending says the format, and must be one of: {}",
       to.string(), fmt::join(endings, ", "));
}

std::string batch_word(const std::string& word) {
  return word == "dynamic" ? "" : positive_integer(word);
}

}  // namespace

void add_export_options(CLI::App& app, ParsedWords& words) {
  Arguments& a = words.arguments;
  ExportArguments& e = a.exported;
  app.add_option("--checkpoint", e.checkpoint,
                 "a run's directory (its best, else its newest), RUN/best, RUN/latest, or a "
                 "checkpoint file")
      ->required()
      ->type_name("RUN|FILE");
  app.add_option("--to", e.to, "the file to write; its ending says the format")
      ->required()
      ->type_name("FILE.onnx");
  app.add_flag_callback(
      "--ema", [&e] { e.ema = true; },
      "the averaged weights of ema.decay; it is an error if the run kept none");
  app.add_flag_callback(
         "--no-ema", [&e] { e.ema = false; }, "the weights as trained, though there are averaged")
      ->excludes("--ema");
  app.add_option_function<std::string>(
         "--batch",
         [&e](const std::string& word) { e.batch = word == "dynamic" ? 0 : std::stoll(word); },
         "samples that one run of the model takes; dynamic: any number (the default)")
      ->check(batch_word)
      ->type_name("N|dynamic");
  app.add_option("--opset", e.opset,
                 fmt::format("version of ONNX's operators, {} to {}; default {}", min_opset,
                             max_opset, default_opset))
      ->check(integer_between(min_opset, max_opset))
      ->type_name("N");
  app.add_flag("--external-data", e.external_data,
               "write the weights beside the model, as FILE.onnx.data, which must stay with it; "
               "models of more than 2 GiB always do");
  app.add_flag("--overwrite", a.overwrite, "replace files that are there and hold something");
  add_log_options(app, a);
  app.footer(
      "Weights are those that trainer eval measures: averaged ones if the run kept them. Images\n"
      "are (N, C, H, W) float32, tokens (N, T) int64; classifiers and language models give "
      "logits.\n"
      "The file holds the mean and deviation by which to normalize its inputs, and the classes'\n"
      "names, as metadata. docs/exporting.md shows how to run it.\n\n"
      "  trainer export --checkpoint runs/fashion_mnist_cnn --to cnn.onnx\n"
      "  trainer export --checkpoint runs/gpt_char/latest --to gpt.onnx --batch 1 --opset 18\n");
}

int run_export(const Arguments& arguments) {
  const ExportArguments& asked = arguments.exported;
  const ExportFormat& format = format_of(asked.to);
  auto run = read_named_run(arguments, asked.checkpoint, Prefer::best);
  require(run && run->checkpoint, "{}: no checkpoint was read", asked.checkpoint);
  InputFiles read;
  read.add(run->checkpoint->path);
  read.refuse_as_target(asked.to);
  StopSignals signals(StopSignals::ending);
  signals.begin_work();
  format.write({.asked = asked,
                .to = asked.to,
                .config = run->resolved.config,
                .checkpoint = *run->checkpoint,
                .existing = arguments.overwrite ? Existing::replace : Existing::keep,
                .stop = signals.flag()});
  return 0;
}

}  // namespace spire::tool
