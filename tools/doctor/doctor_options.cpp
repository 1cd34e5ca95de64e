#include "tools/doctor/doctor_options.h"

#include <CLI/CLI.hpp>

#include <spire/error.h>
#include <spire/load_config.h>

namespace spire {

namespace {

constexpr double least_seconds = 0.1, most_seconds = 86'400;

// CLI11 hands over one of these for an option without its optional value.
bool is_no_value(const std::string& word) {
  return word.empty() || word == "true";
}

std::string watch_interval(const std::string& word) {
  if (is_no_value(word)) return "";
  try {
    double seconds = parse_number(word);
    if (seconds >= least_seconds && seconds <= most_seconds) return "";
    return fmt::format("expected {} to {} seconds, got {}", least_seconds, most_seconds, word);
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

void add_doctor_options(CLI::App& app, DoctorArguments& arguments) {
  app.add_flag("--json", arguments.json, "print the findings as JSON (docs/doctor.md)");
  app.add_option("--copy-seconds", arguments.copy_seconds,
                 "a copy between two GPUs that takes longer counts as hung; default: 5")
      ->check(CLI::Range(least_seconds, 600.0))
      ->type_name("N");
  app.footer(
      "Looks at driver and libraries, GPUs and copies between them, limits of the system, cores,\n"
      "memory, the processor, and the disk of the output folder, onto which it writes 64 MiB for "
      "a\n"
      "moment. With --config also at the plan and the data of that run. Each finding is OK, warn "
      "or\n"
      "fail, with a remedy. Exit code 0: nothing fails; 3: something does.\n\n"
      "  trainer doctor --config run.yaml\n"
      "  trainer doctor --json | jq '.findings[] | select(.level != \"ok\")'\n");
}

void add_watch_options(CLI::App& app, WatchArguments& arguments) {
  auto take = [&arguments](const CLI::results_t& words) {
    arguments.seconds = is_no_value(words[0]) ? 2 : parse_number(words[0]);
    return true;
  };
  CLI::Option* watch =
      app.add_option(
             "--watch", CLI::callback_t(take),
             "a live table of all GPUs and the cores of the host, with who uses them, every "
             "SECONDS (2); Ctrl+C ends it. Without a terminal: a line a device and sample")
          ->expected(0, 1)
          ->check(watch_interval)
          ->excludes(app.get_option("--probe"))
          ->type_name("[SECONDS]");
  app.add_option("--count", arguments.count, "end after N samples")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->needs(watch)
      ->type_name("N");
}

}  // namespace spire
