// trainer export: writes a trained model in the form that other programs read.
#include <CLI/CLI.hpp>

#include <spire/export_model.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/observe/formatting.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_source.h"
#include "tools/output/streams.h"
#include "tools/process/signals.h"

namespace spire {

namespace {

std::string batch_word(const std::string& word) {
  return word == "dynamic" ? "" : positive_integer(word);
}

void add_onnx_options(CLI::App& app, ExportOptions& e) {
  app.add_option_function<std::string>(
         "--batch",
         [&e](const std::string& word) { e.batch = word == "dynamic" ? 0 : std::stoll(word); },
         "ONNX: samples that one run of the model takes; dynamic: any number (the default)")
      ->check(batch_word)
      ->type_name("N|dynamic");
  app.add_option("--opset", e.opset,
                 fmt::format("ONNX: version of the operators, {} to {}; default {}",
                             least_onnx_opset, most_onnx_opset, usual_onnx_opset))
      ->check(integer_between(least_onnx_opset, most_onnx_opset))
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
                 "checkpoint file; the same as a word")
      ->type_name("RUN|FILE");
  app.add_option("words", a.overrides, "the run, unless --checkpoint names it")->type_name("RUN");
  app.add_option("--to", e.to,
                 "the file to write; its ending says the format: .onnx, .safetensors or .npz")
      ->required()
      ->type_name("FILE");
  auto* averaged = app.add_flag_callback(
      "--ema", [&e] { e.options.averaged = true; },
      "the averaged weights of ema.decay; it is an error if the run kept none");
  app.add_flag_callback(
         "--no-ema", [&e] { e.options.averaged = false; },
         "the weights as trained, though there are averaged")
      ->excludes(averaged);
  add_onnx_options(app, e.options);
  app.add_option("--names", e.options.names,
                 "safetensors, npz: whose names and layouts; auto: torchvision's for an ImageNet "
                 "ResNet, Hugging Face's for gpt, llama and vit, else PyTorch's. Default: auto for "
                 "safetensors, spire for npz")
      ->check(CLI::IsMember({"auto", "spire", "pytorch", "torchvision", "huggingface"}))
      ->type_name("auto|spire|pytorch|torchvision|huggingface");
  app.add_option_function<std::string>(
         "--lora", [&e](const std::string& word) { e.options.adapters_apart = word == "apart"; },
         "of a run with adapt.lora: merged into the weights (the default), or apart: the adapters "
         "alone, as adapter_model.safetensors and adapter_config.json for Hugging Face's PEFT")
      ->check(CLI::IsMember({"merged", "apart"}))
      ->type_name("merged|apart");
  app.add_flag("--overwrite", e.options.overwrite,
               "replace files that are there and hold something");
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

namespace {

// Prints the files with their sizes, and what is in them.
void print_export(const ExportedModel& model) {
  TextTable files;
  for (const WrittenFile& file : model.files)
    files.push_back({file.path.string(), bytes_text(file.bytes)});
  Sections parts;
  parts.add("written", files);
  parts.add("removed", model.removed.string());
  parts.add("input", model.input);
  parts.add("output", model.output);
  parts.add("names", model.names);
  if (model.lora_rank > 0) {  // adapters alone
    parts.add("adapters", fmt::format("of {} modules, rank {}, step {}", model.adapted_modules,
                                      model.lora_rank, count_text(model.step)));
  } else {
    parts.add("weights",
              fmt::format("{} numbers in {} tensors of step {}{}", count_text(model.numbers),
                          model.tensors, count_text(model.step),
                          model.averaged ? ", averaged (ema.decay)" : ""));
  }
  result_text(parts.text());
}

}  // namespace

int run_export(const Arguments& arguments) {
  const ExportArguments& asked = arguments.exported;
  ExportOptions options = asked.options;
  check_export(asked.to, options);
  auto run = read_named_run(arguments, asked.checkpoint, CheckpointChoice::best);
  require(run && run->checkpoint, "{}: no checkpoint was read", asked.checkpoint);
  InputFiles read;
  read.add(run->checkpoint->path());
  read.refuse_as_target(asked.to);
  StopSignals signals(StopSignals::ending);
  signals.begin_work();
  options.stop = signals.flag();
  ExportedModel model = export_model(*run->checkpoint, run->resolved.config, asked.to, options);
  print_warnings(model.warnings);
  print_export(model);
  return 0;
}

}  // namespace spire
