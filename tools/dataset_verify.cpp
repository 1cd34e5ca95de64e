// trainer dataset verify: reads every row once and reports bad rows and wrong checksums.
#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/data/convert/verify.h"
#include "engine/observe/formatting.h"
#include "tools/commands.h"
#include "tools/config_source.h"
#include "tools/output/progress.h"
#include "tools/output/streams.h"
#include "tools/process/signals.h"

namespace spire::tool {

namespace {

std::string half_text(const char* name, const SplitReport& half) {
  std::string text = fmt::format("{:<5}  {} {}, {} bad", name, count_text(half.rows),
                                 noun_form(half.rows, "sample"), count_text(half.bad));
  if (half.checksums > 0)
    text += fmt::format("; {} {} compared", count_text(half.checksums),
                        noun_form(half.checksums, "checksum"));
  if (half.wrong > 0) text += fmt::format(", {} wrong", count_text(half.wrong));
  return text + "\n";
}

// "1 bad sample", "2 bad samples and 1 wrong checksum"
std::string problems_text(const VerifyResult& result) {
  int64_t bad = result.train.bad + result.test.bad, wrong = result.train.wrong + result.test.wrong;
  std::string samples = counted(bad, "bad sample"), sums = counted(wrong, "wrong checksum");
  if (wrong == 0) return samples;
  return bad == 0 ? sums : samples + " and " + sums;
}

// Prints the first bad rows of both halves, max_problems in all.
void print_problems(const VerifyResult& result) {
  size_t shown = 0;
  for (const SplitReport* half : {&result.train, &result.test})
    for (const std::string& problem : half->problems)
      if (shown++ < max_problems) print_result("bad: {}\n", problem);
}

VerifyResult read_all(const Arguments& arguments, const RunConfig& config) {
  StopSignals signals(StopSignals::ending);
  ProgressLine line = make_progress_line("verified", arguments, config);
  return verify_dataset(config, {.stop = signals.flag(), .on_progress = [&](const WorkProgress& p) {
                                   signals.begin_work();
                                   line.show(p);
                                 }});
}

}  // namespace

void verify_data(const Arguments& arguments, const RunConfig& config, bool may_skip) {
  VerifyResult result = read_all(arguments, config);
  print_problems(result);
  print_result("{}{}", half_text("train", result.train), half_text("test", result.test));
  bool wrong = result.train.wrong + result.test.wrong > 0;
  bool bad = result.train.bad + result.test.bad > 0;
  bool empty = result.train.none_good || result.test.none_good;
  if (result.good() || (may_skip && !wrong && !empty)) return;
  fail(Category::data, "the dataset has {}; get an intact copy, or correct the samples listed{}",
       problems_text(result),
       bad && config.data.on_error != DataConfig::OnError::skip
           ? ", or leave them out of runs with data.on_error: skip"
           : "");
}

int run_dataset_verify(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  print_warnings(*resolved);
  verify_data(arguments, resolved->config, false);
  return 0;
}

}  // namespace spire::tool
