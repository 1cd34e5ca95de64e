// trainer dataset verify: reads every row once.
#include <spire/base/error.h>
#include <spire/data/verify.h>
#include <spire/observe/units.h>
#include <unistd.h>

#include <iostream>

#include "commands.h"
#include "config_source.h"
#include "signals.h"
#include "streams.h"
#include "work_line.h"

namespace spire::tool {

namespace {

std::string half_text(const char* name, const VerifiedHalf& half) {
  std::string text =
      fmt::format("{:<5}  {} samples, {} bad", name, count_text(half.rows), count_text(half.bad));
  if (half.checksums > 0)
    text += fmt::format("; {} checksums compared", count_text(half.checksums));
  if (half.wrong > 0) text += fmt::format(", {} wrong", count_text(half.wrong));
  return text + "\n";
}

void print_problems(const VerifyResult& result) {
  size_t shown = 0;
  for (const VerifiedHalf* half : {&result.train, &result.test})
    for (const std::string& problem : half->problems)
      if (shown++ < most_problems) print_result("bad: {}\n", problem);
}

}  // namespace

int run_dataset_verify(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  print_warnings(*resolved);
  StopSignals signals(StopSignals::ending);
  VerifyResult result;
  {
    WorkLine line(std::cerr, "verified", terminal_of(STDERR_FILENO),
                  resolved->config.log.every_seconds,
                  arguments.quiet || arguments.log_level != "info");
    result = verify_dataset(resolved->config,
                            {.stop = signals.flag(), .on_progress = [&](const WorkProgress& p) {
                               signals.begin_work();
                               line.show(p);
                             }});
  }
  print_problems(result);
  print_result("{}{}", half_text("train", result.train), half_text("test", result.test));
  if (!result.good())
    fail(Category::data, "{} bad samples and {} wrong checksums; get an intact copy, or mend them",
         result.train.bad + result.test.bad, result.train.wrong + result.test.wrong);
  return 0;
}

}  // namespace spire::tool
