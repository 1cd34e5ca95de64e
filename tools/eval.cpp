// trainer eval: the metrics of a checkpoint on the test data.
#include <spire/base/error.h>
#include <spire/base/message_words.h>
#include <spire/config/text.h>
#include <spire/process/launch.h>
#include <spire/train/run.h>

#include "commands.h"
#include "config_source.h"
#include "console.h"
#include "signals.h"

namespace spire::tool {

int run_eval(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  Launch launch = read_launch(process_environment());
  if (launch.size > 1) {
    fail(Category::config,
         "trainer eval runs in one process, but {} started {}; start it without a launcher",
         launch.launcher, launch.size);
  }
  StopSignals signals(StopSignals::ending);
  auto console = make_console(arguments, resolved->config);
  RunOptions options;
  options.resume = arguments.resume;
  options.stop = signals.flag();
  options.config_yaml = to_yaml(resolved->config);
  EvalResult result = evaluate(resolved->config, options, *console);
  fmt::print("test_loss {:.6g}\ntest_{} {:.4f}\nsamples {}\ncheckpoint {}\n",
             unsigned_nan(result.loss), name(result.metric.metric),
             unsigned_nan(result.metric.value), result.samples, result.checkpoint);
  return 0;
}

}  // namespace spire::tool
