// trainer dataset convert: writes any dataset as one HDF5 file, or a text as token shards.
#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/data/convert/convert.h"
#include "engine/observe/formatting.h"
#include "tools/commands.h"
#include "tools/config_source.h"
#include "tools/output/progress.h"
#include "tools/output/streams.h"
#include "tools/process/signals.h"

namespace spire::tool {

namespace {

constexpr std::string_view stopping =
    "\nstopping: repeat the same command to continue; press Ctrl+C again to end at once\n";

void print_result_of(const ConvertResult& result) {
  const char* unit = result.format == "tokens" ? "tokens" : "samples";
  Sections sections;
  sections.add("written", fmt::format("{}, {}", result.path.string(), bytes_text(result.bytes)));
  sections.add("samples", fmt::format("{} {} for training, {} for testing",
                                      count_text(result.train), unit, count_text(result.test)));
  if (result.skipped > 0)
    sections.add("replaced",
                 fmt::format("{}; the first: {}", counted(result.skipped, "broken sample"),
                             result.first_problem));
  sections.add("to read it",
               fmt::format("data.name={} data.path={}", result.format, result.path.string()));
  print_result("{}", sections.text());
}

}  // namespace

int run_dataset_convert(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  const DatasetArguments& asked = arguments.dataset;
  if (asked.to.empty())
    fail(Category::config,
         "trainer dataset convert: the option --to is missing; add --to PATH, where the result is "
         "written");
  print_warnings(*resolved);
  StopSignals signals(stopping);
  ProgressLine line = make_progress_line("converted", arguments, resolved->config);
  ConvertOptions options;
  options.to = asked.to;
  options.format = asked.format;
  options.order = asked.order;
  options.overwrite = arguments.overwrite;
  options.shard_tokens = asked.shard_tokens;
  options.stop = signals.flag();
  options.on_progress = [&](const WorkProgress& progress) {
    signals.begin_work();
    line.show(progress);
  };
  print_result_of(convert_dataset(resolved->config, options));
  return 0;
}

}  // namespace spire::tool
