// trainer report: a page of one run, or of several over each other, from the files of their
// folders.
#include <filesystem>

#include <CLI/CLI.hpp>

#include "engine/base/fail.h"
#include "engine/base/write_file.h"
#include "tools/commands.h"
#include "tools/config_source.h"
#include "tools/output/streams.h"
#include "tools/process/signals.h"
#include "tools/report/run_page.h"

namespace spire {

namespace {

// What the run's best checkpoint, else its newest, finds in the run's test data.
ConfusionMatrix evaluate_classes(const Arguments& arguments, const StopSignals& signals) {
  const std::string& name = arguments.report.runs.at(0);
  auto run = read_named_run(arguments, name, CheckpointChoice::best);
  require(run && run->checkpoint, "{}: no checkpoint was read", name);
  return count_confusions(*run->checkpoint, run->resolved.config, name, arguments.report.device,
                          signals.flag(), line_printer(arguments));
}

}  // namespace

void add_report_options(CLI::App& app, ParsedWords& words) {
  ReportArguments& r = words.arguments.report;
  app.add_option("runs", r.runs, "directories of runs, finished or running; several: in one page")
      ->required()
      ->type_name("RUN...");
  app.add_option("--to", r.to, "file to write; default: report.html in the first RUN")
      ->type_name("FILE");
  CLI::Option* evaluate = app.add_flag("--evaluate", r.evaluate,
                                       "one run that classifies: also a confusion matrix of its "
                                       "best checkpoint on the test data, and "
                                       "what it found most wrong");
  app.add_option("--device", r.device, "with --evaluate, where to compute: cpu, or cuda:0")
      ->needs(evaluate)
      ->type_name("DEVICE");
  app.footer(
      "Writes one HTML page, which needs no network: figures, curves over epochs, time of a step,\n"
      "memory, devices, samples, config. A run that goes on is shown as far as it is; the same\n"
      "command later replaces the page. docs/reports.md describes it.\n\n"
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
  require_replaceable(target, ReplaceableFile::page);
  make_folder_of(target);
  AtomicWriter page(target, Category::config);  // fails before anything is computed
  std::optional<ConfusionMatrix> confusion;
  StopSignals signals(StopSignals::ending);
  signals.begin_work();
  if (given.evaluate) confusion = evaluate_classes(arguments, signals);
  page.write(report_html(runs, confusion ? &*confusion : nullptr));
  page.commit();
  for (const RunFiles& run : runs) print_result("{}: {}\n", run.label, state_text(run));
  print_result("{}\n", target.string());
  return 0;
}

}  // namespace spire
