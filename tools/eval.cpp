// trainer eval: computes the metrics of a checkpoint on the test data.
#include <cmath>

#include <CLI/CLI.hpp>

#include <spire/load_config.h>
#include <spire/train.h>
#include <spire/world.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_source.h"
#include "tools/output/progress.h"
#include "tools/output/streams.h"
#include "tools/process/attempt.h"
#include "tools/process/signals.h"

namespace spire {

void add_eval_options(CLI::App& app, ParsedWords& words) {
  Arguments& a = words.arguments;
  add_config_options(app, words);
  app.add_option("--resume,--checkpoint", a.resume,
                 "what to evaluate: a run's directory (its best), a checkpoint file, or best or "
                 "latest of the run in output; the same as a word RUN; without either: the best of "
                 "the run in output. Without --config with the config of that run")
      ->type_name("RUN|FILE|best|latest");
  app.add_flag("--val", a.on_validation,
               "evaluate the validation data (data.val), not the test data");
  add_log_options(app, a);
}

int run_eval(const Arguments& arguments) {
  auto run = read_named_run(arguments, arguments.resume, CheckpointChoice::best);
  if (!run) return 0;
  refuse_other_reading(*run, arguments);
  const RunConfig& config = run->resolved.config;
  // Test data are one pass of one process; ranks of a launcher would each do all of it.
  Launch launch = read_launch(process_environment());
  if (launch.size > 1) {
    fail(Category::config,
         "trainer eval runs in one process, but {} started {}; start it without a launcher",
         launch.launcher, launch.size);
  }
  StopSignals signals(StopSignals::ending);
  auto console = make_console(arguments, config);
  for (const std::string& warning : run->resolved.warnings) console->on_warning(warning);
  RunOptions options;
  options.checkpoint = run->checkpoint->loaded();  // already read, for its config
  options.defaulted_keys = defaulted_keys(run->resolved);
  options.on_validation = arguments.on_validation;
  options.all_test = !arguments.on_validation && takes_other_data(*run, arguments);
  options.stop = signals.flag();
  options.on_exit_timeout = end_process;
  options.on_begin = [&signals] { signals.begin_work(); };
  options.config_yaml = to_yaml(config);
  EvalResult result =
      naming_places(run->resolved, [&] { return evaluate(config, options, *console); });
  const char* data = arguments.on_validation ? "val" : "test";
  print_result("{}_loss {:.6g}\n", data, unsigned_nan(result.loss));
  print_result("{}_{} {:.4f}\n", data, to_string(result.metric.metric),
               unsigned_nan(result.metric.value));
  for (const MetricValue& other : result.others)
    print_result("{}_{} {:.6g}\n", data, to_string(other.metric), unsigned_nan(other.value));
  print_result("samples {}\ncheckpoint {}\n", result.samples, result.checkpoint);
  if (!std::isfinite(result.loss))
    fail(Category::diverged,
         "the loss on the {} data is {}: the weights of {}, or the data, have numbers that are not "
         "finite, or too large",
         arguments.on_validation ? "validation" : "test", unsigned_nan(result.loss),
         result.checkpoint);
  return 0;
}

}  // namespace spire
