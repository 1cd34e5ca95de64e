// trainer lr-find: a range test of the learning rate, as CSV, as a page and in words.
#include <filesystem>

#include <CLI/CLI.hpp>

#include "engine/base/fail.h"
#include "engine/base/write_file.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_source.h"
#include "tools/lr_find/range_test.h"
#include "tools/output/progress.h"
#include "tools/output/streams.h"
#include "tools/process/signals.h"

namespace spire {

namespace {

RangeTest tested(const Arguments& arguments, const RunConfig& config) {
  const LrFindArguments& given = arguments.lr_find;
  StopSignals signals(StopSignals::ending);
  ProgressLine line = make_progress_line("tested", arguments, config);
  RangeTestOptions options{
      .steps = given.steps, .low = given.low, .high = given.high, .stop = signals.flag()};
  int64_t done = 0;  // of the range test, and of three trials behind it
  options.on_step = [&](const RangePoint&) {
    signals.begin_work();
    line.show({.done = ++done, .total = 4 * given.steps, .unit = "steps"});
  };
  RangeTest test = test_range(config, options);
  if (signals.flag()->load())
    fail(Category::interrupted, "stopped at step {} of {}; nothing was written", done,
         4 * given.steps);
  return test;
}

void print_judgement(const RangeTest& test, int64_t steps) {
  if (!test.ended.empty()) print_result("ended early: {}\n", test.ended);
  if (!test.lowest) {
    print_result(
        "no rate is suggested: the smoothed loss never fell; try a lower --low, or more "
        "--steps\n");
    return;
  }
  print_result("lowest loss at    lr {:.3g}\nsteepest fall at  lr {:.3g}\n", *test.lowest,
               *test.steepest);
  for (const RateTrial& trial : test.trials)
    print_result("a run at          lr {:.3g}: loss {:.4g} after {} steps\n", trial.lr, trial.loss,
                 steps);
  print_result("suggested         optimizer.lr={:.2g}, the best of these runs{}\n",
               *test.suggested(),
               test.scaling == 1 ? "" : fmt::format(", over {:.4g} by lr.scaling", test.scaling));
}

}  // namespace

void add_lr_find_options(CLI::App& app, ParsedWords& words) {
  LrFindArguments& l = words.arguments.lr_find;
  add_config_options(app, words);
  app.add_option("--steps", l.steps, "number of steps, each at a higher rate")
      ->check(integer_between(2, 1'000'000))
      ->type_name("N");
  app.add_option("--low", l.low, "rate of the first step")->type_name("X");
  app.add_option("--high", l.high, "rate of the last step")->type_name("X");
  app.add_option("--to", l.to, "folder of lr_find.csv and lr_find.html; default: the current one")
      ->type_name("DIR");
  add_log_options(app, words.arguments);
  app.footer(
      "Trains N steps from the config's initial weights while the rate rises exponentially (Smith\n"
      "2017), then three runs of N steps: at a tenth of the rate at which the smoothed loss was\n"
      "lowest, at a third of that, and at a tenth. It suggests the best of these rates. The "
      "weights\n"
      "are not kept. The numbers are the same on any devices with the same towers.\n\n"
      "  trainer lr-find --config run.yaml --steps 200 --low 1e-5 --high 1\n");
}

int run_lr_find(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  print_warnings(*resolved);
  const RunConfig& config = resolved->config;
  std::filesystem::path folder = arguments.lr_find.to.empty() ? "." : arguments.lr_find.to;
  require_replaceable(folder / "lr_find.csv", ReplaceableFile::range_test);
  require_replaceable(folder / "lr_find.html", ReplaceableFile::page);
  RangeTest test = naming_places(*resolved, [&] { return tested(arguments, config); });
  std::error_code error;
  std::filesystem::create_directories(folder, error);  // writing the files reports an error
  write_file_atomically(folder / "lr_find.csv", to_csv(test), Category::config);
  write_file_atomically(folder / "lr_find.html", range_test_html(config.output, test),
                        Category::config);
  print_judgement(test, arguments.lr_find.steps);
  print_result("{}\n{}\n", (folder / "lr_find.csv").string(), (folder / "lr_find.html").string());
  return 0;
}

}  // namespace spire
