// The options --timeline and --timeline-steps of trainer train.
#include <CLI/CLI.hpp>

#include <spire/error.h>
#include <spire/load_config.h>

#include "tools/commands.h"
#include "tools/output/replaceable_file.h"

namespace spire {

namespace {

// "10:12", or "10" for a single step. Throws Error(config).
std::pair<int64_t, int64_t> parse_steps(const std::string& text) {
  size_t colon = text.find(':');
  int64_t first = parse_integer(text.substr(0, colon));
  int64_t last = colon == text.npos ? first : parse_integer(text.substr(colon + 1));
  if (first < 1 || last < first)
    fail(Category::config, "expected FIRST:LAST with 1 <= FIRST <= LAST, got '{}'", text);
  return {first, last};
}

std::string steps_problem(const std::string& text) {
  try {
    auto [first, last] = parse_steps(text);
    constexpr int64_t most = 1000;
    if (last - first < most) return "";
    return fmt::format("a timeline has at most {} steps, got {}", most, last - first + 1);
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

void add_timeline_options(CLI::App& app, Arguments& arguments) {
  CLI::Option* file =
      app.add_option("--timeline", arguments.timeline,
                     "write what every device did in some steps, for ui.perfetto.dev or "
                     "chrome://tracing (Trace Event Format)")
          ->type_name("FILE");
  app.add_option("--timeline-steps", arguments.timeline_steps,
                 "of which steps; default: three, after the first ten")
      ->needs(file)
      ->check(steps_problem)
      ->type_name("FIRST:LAST");
}

std::optional<TimelineOptions> timeline_options(const Arguments& arguments) {
  if (arguments.timeline.empty()) return {};
  require_replaceable(arguments.timeline, ReplaceableFile::timeline);
  TimelineOptions options{.path = arguments.timeline};
  if (!arguments.timeline_steps.empty())
    std::tie(options.first, options.last) = parse_steps(arguments.timeline_steps);
  return options;
}

}  // namespace spire
