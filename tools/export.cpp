// trainer export: writes a trained model in the form that other programs read.
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include <spire/error.h>

#include "engine/checkpoint/merged_tensors.h"
#include "engine/config/words.h"
#include "engine/onnx/inference_graph.h"
#include "engine/onnx/onnx_graph.h"
#include "models/adapters.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_source.h"
#include "tools/export/export_job.h"
#include "tools/output/streams.h"
#include "tools/process/signals.h"

namespace spire::tool {

namespace {

namespace fs = std::filesystem;

struct ExportFormat {
  std::string_view ending;
  void (*write)(const ExportJob&);
  bool is_model;  // a graph, not weights alone
};
constexpr ExportFormat export_formats[] = {{".onnx", export_as_onnx, true},
                                           {".safetensors", export_as_safetensors, false},
                                           {".npz", export_as_npz, false}};

const ExportFormat& format_of(const fs::path& to) {
  std::vector<std::string_view> endings;
  for (const ExportFormat& format : export_formats) {
    if (to.extension() == format.ending) return format;
    endings.push_back(format.ending);
  }
  fail(Category::config, "--to {}: the file's ending says the format, and must be one of: {}",
       to.string(), fmt::join(endings, ", "));
}

// Throws Error(config) for an option that means nothing in the format.
void check_options(const ExportFormat& format, const ExportArguments& asked) {
  auto refuse = [&](const char* option, bool given, const char* where) {
    if (given)
      fail(Category::config, "{}: means nothing for {}, only for {}; leave it out", option,
           format.ending, where);
  };
  if (format.ending != ".safetensors") refuse("--lora apart", asked.adapters_apart, ".safetensors");
  if (format.is_model) return refuse("--names", !asked.names.empty(), ".safetensors and .npz");
  refuse("--batch", asked.batch.has_value(), ".onnx");
  refuse("--opset", asked.opset.has_value(), ".onnx");
  refuse("--external-data", asked.external_data, ".onnx");
}

std::string batch_word(const std::string& word) {
  return word == "dynamic" ? "" : positive_integer(word);
}

void add_onnx_options(CLI::App& app, ExportArguments& e) {
  app.add_option_function<std::string>(
         "--batch",
         [&e](const std::string& word) { e.batch = word == "dynamic" ? 0 : std::stoll(word); },
         "ONNX: samples that one run of the model takes; dynamic: any number (the default)")
      ->check(batch_word)
      ->type_name("N|dynamic");
  app.add_option("--opset", e.opset,
                 fmt::format("ONNX: version of the operators, {} to {}; default {}", min_opset,
                             max_opset, default_opset))
      ->check(integer_between(min_opset, max_opset))
      ->type_name("N");
  app.add_flag("--external-data", e.external_data,
               "ONNX: write the weights beside the model, as FILE.onnx.data, which must stay with "
               "it; models of more than 2 GiB always do");
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
  app.add_option("--to", e.to,
                 "the file to write; its ending says the format: .onnx, .safetensors or .npz")
      ->required()
      ->type_name("FILE");
  auto* averaged = app.add_flag_callback(
      "--ema", [&e] { e.ema = true; },
      "the averaged weights of ema.decay; it is an error if the run kept none");
  app.add_flag_callback(
         "--no-ema", [&e] { e.ema = false; }, "the weights as trained, though there are averaged")
      ->excludes(averaged);
  add_onnx_options(app, e);
  app.add_option("--names", e.names,
                 "safetensors, npz: whose names and layouts; auto: torchvision's for an ImageNet "
                 "ResNet, Hugging Face's for gpt and vit, else PyTorch's. Default: auto for "
                 "safetensors, spire for npz")
      ->check(CLI::IsMember({"auto", "spire", "pytorch", "torchvision", "huggingface"}))
      ->type_name("auto|spire|pytorch|torchvision|huggingface");
  app.add_option_function<std::string>(
         "--lora", [&e](const std::string& word) { e.adapters_apart = word == "apart"; },
         "of a run with adapt.lora: merged into the weights (the default), or apart: the adapters "
         "alone, as adapter_model.safetensors and adapter_config.json for Hugging Face's PEFT")
      ->check(CLI::IsMember({"merged", "apart"}))
      ->type_name("merged|apart");
  app.add_flag("--overwrite", a.overwrite, "replace files that are there and hold something");
  add_log_options(app, a);
  app.footer(
      "Weights are those that trainer eval measures: averaged ones if the run kept them. In an "
      "ONNX\n"
      "model images are (N, C, H, W) float32, tokens (N, T) int64; classifiers and language "
      "models\n"
      "give logits. Its metadata holds the mean and deviation by which to normalize inputs, and\n"
      "the classes' names. docs/exporting.md shows how others run the model or load the "
      "weights.\n\n"
      "  trainer export --checkpoint runs/fashion_mnist_cnn --to cnn.onnx\n"
      "  trainer export --checkpoint runs/gpt_char/latest --to gpt.onnx --batch 1 --opset 18\n"
      "  trainer export --checkpoint runs/resnet50 --to resnet50.safetensors\n");
}

int run_export(const Arguments& arguments) {
  const ExportArguments& asked = arguments.exported;
  const ExportFormat& format = format_of(asked.to);
  check_options(format, asked);
  auto run = read_named_run(arguments, asked.checkpoint, Prefer::best);
  require(run && run->checkpoint, "{}: no checkpoint was read", asked.checkpoint);
  InputFiles read;
  read.add(run->checkpoint->path);
  read.refuse_as_target(asked.to);
  // As an error of the arguments; the writers look again.
  std::error_code error;
  if (!arguments.overwrite && fs::is_regular_file(asked.to, error) &&
      fs::file_size(asked.to, error) > 0)
    fail(Category::config, "{}: is there already; name another file, or give --overwrite",
         asked.to);
  const RunConfig& config = run->resolved.config;
  LoadedCheckpoint checkpoint = *run->checkpoint;
  if (!asked.adapters_apart) {  // other programs get the model alone
    bool averaged = takes_average(*checkpoint.tensors, asked.ema);
    checkpoint.tensors = std::make_shared<MergedTensors>(
        checkpoint.tensors, adapter_factor(config.adapt.lora), averaged);
  }
  StopSignals signals(StopSignals::ending);
  signals.begin_work();
  auto* write = asked.adapters_apart ? export_adapters : format.write;
  write({.asked = asked,
         .to = asked.to,
         .config = config,
         .checkpoint = checkpoint,
         .existing = arguments.overwrite ? Existing::replace : Existing::keep,
         .stop = signals.flag()});
  return 0;
}

}  // namespace spire::tool
