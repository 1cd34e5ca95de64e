// trainer report: a page of one run, or of several over each other, from the files of their
// folders.
#include <filesystem>

#include <CLI/CLI.hpp>

#include <spire/error.h>

#include "engine/base/write_file.h"
#include "engine/inference/confusion.h"
#include "engine/run/run_setup.h"
#include "engine/run_page/run_html.h"
#include "tools/commands.h"
#include "tools/config_source.h"
#include "tools/output/streams.h"
#include "tools/process/signals.h"

namespace spire::tool {

namespace {

constexpr int64_t rows_at_a_time = 64;

// What the run's best checkpoint, else its newest, finds in the run's test data.
ConfusionMatrix evaluate_classes(const Arguments& arguments, const StopSignals& signals) {
  const std::string& name = arguments.report.runs.at(0);
  auto run = read_named_run(arguments, name, Prefer::best);
  require(run && run->checkpoint, "{}: no checkpoint was read", name);
  const LoadedCheckpoint& checkpoint = *run->checkpoint;
  const RunConfig& config = run->resolved.config;
  Predictor predictor(checkpoint.state, *checkpoint.tensors,
                      {.device = arguments.report.device, .batch = rows_at_a_time});
  if (predictor.task() != Task::classify)
    fail(Category::config,
         "--evaluate counts classes, and this model finds none; trainer eval --checkpoint {} "
         "measures it",
         name);
  ReadOptions options = {.dtype = compute_dtype(config),
                         .seed = config.seed,
                         .trained = std::make_shared<SampleSpec>(predictor.spec())};
  DatasetPair data =
      match_trained_schema(open_dataset(config.data, options), predictor.spec(), name, true);
  ConfusionMatrix matrix;
  matrix.checkpoint = checkpoint.path.filename().string();
  matrix.counts = confusion_counts(predictor, *data.test, rows_at_a_time, signals.flag());
  const auto& names = predictor.spec().class_names;
  auto classes = static_cast<size_t>(predictor.output_shape().elements());
  for (size_t i = 0; i < classes; ++i)
    matrix.classes.push_back(i < names.size() ? names[i] : std::to_string(i));
  return matrix;
}

}  // namespace

void add_report_options(CLI::App& app, ParsedWords& words) {
  ReportArguments& r = words.arguments.report;
  app.add_option("runs", r.runs, "directories of runs, finished or running; several: in one page")
      ->required()
      ->type_name("RUN...");
  app.add_option("--to", r.to, "file to write; default: report.html in the first RUN")
      ->type_name("FILE");
  CLI::Option* evaluate = app.add_flag(
      "--evaluate", r.evaluate,
      "one run that classifies: also a confusion matrix of its best checkpoint on the test data");
  app.add_option("--device", r.device, "with --evaluate, where to compute: cpu, or cuda:0")
      ->needs(evaluate)
      ->type_name("DEVICE");
  app.footer(
      "Writes one HTML page without scripts, which needs no network: state, curves over epochs,\n"
      "time of a step, memory, devices, samples, config. A run that goes on is shown as far as it\n"
      "is; the same command later replaces the page. docs/reports.md describes it.\n\n"
      "  trainer report runs/fashion_mnist_cnn --evaluate\n"
      "  trainer report runs/a runs/b --to both.html\n");
}

int run_report(const Arguments& arguments) {
  const ReportArguments& given = arguments.report;
  if (given.evaluate && given.runs.size() > 1)
    fail(Category::config, "--evaluate takes one run; give the runs one by one");
  std::vector<RunFiles> runs;
  for (const std::string& directory : given.runs) runs.push_back(read_run_files(directory));
  tell_apart(runs);
  std::filesystem::path target =
      given.to.empty() ? runs.front().directory / "report.html" : std::filesystem::path(given.to);
  AtomicWriter page(target, Category::config);  // fails before anything is computed
  std::optional<ConfusionMatrix> confusion;
  StopSignals signals(StopSignals::ending);
  signals.begin_work();
  if (given.evaluate) confusion = evaluate_classes(arguments, signals);
  page.write(run_html(runs, confusion ? &*confusion : nullptr));
  page.commit();
  for (const RunFiles& run : runs) print_result("{}: {}\n", run.label, state_text(run));
  print_result("{}\n", target.string());
  return 0;
}

}  // namespace spire::tool
