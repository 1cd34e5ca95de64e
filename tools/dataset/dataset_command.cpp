// trainer dataset: convert writes any dataset as one HDF5 file, or a text as token shards; inspect
// prints its columns, classes and files; verify reads every row once and compares checksums.
#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include <spire/dataset.h>
#include <spire/dataset_tools.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/observe/formatting.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_source.h"
#include "tools/dataset/dataset_facts.h"
#include "tools/output/progress.h"
#include "tools/output/streams.h"
#include "tools/process/signals.h"

namespace spire {

namespace {

// Help of the subcommands of `trainer dataset`, behind their options.
constexpr const char* data_footer =
    "The dataset is given as for train, by data.name, data.path and the other keys of "
    "data\n(trainer --help-config). docs/formats.md describes the files.\n";

constexpr std::string_view stopping =
    "\nstopping: repeat the same command to continue; press Ctrl+C again to end at once\n";

// Prints size, samples and the keys with which a run reads the result.
void print_result_of(const ConvertResult& result) {
  const char* unit = result.format == "tokens" ? "tokens" : "samples";
  Sections parts;
  parts.add("written", fmt::format("{}, {}", result.path.string(), bytes_text(result.bytes)));
  parts.add("samples",
            fmt::format(
                "{} {} for training, {} for testing{}", count_text(result.train), unit,
                count_text(result.test),
                result.val > 0 ? fmt::format(", {} for validation", count_text(result.val)) : ""));
  if (result.skipped > 0)
    parts.add("replaced", fmt::format("{}; the first: {}", counted(result.skipped, "broken sample"),
                                      result.first_problem));
  parts.add("to read it",
            fmt::format("data.name={} data.path={}", result.format, result.path.string()));
  result_text(parts.text());
}

}  // namespace

void add_convert_options(CLI::App& app, ParsedWords& words) {
  Arguments& a = words.arguments;
  add_key_options(app, words);
  app.add_option("--to", a.dataset.convert.to,
                 "hdf5: the file, *.h5 or *.hdf5, else the folder of data.h5; tokens: the folder")
      ->type_name("PATH");
  app.add_option("--format", a.dataset.convert.format,
                 "format to write; auto: tokens for text, else hdf5")
      ->check(CLI::IsMember({"auto", "hdf5", "tokens"}))
      ->type_name("hdf5|tokens");
  app.add_option("--order", a.dataset.convert.order,
                 "hdf5: order of the training rows; auto: shuffled by the seed for image_folder, "
                 "else source")
      ->check(CLI::IsMember({"auto", "source", "shuffled"}))
      ->type_name("source|shuffled");
  app.add_option("--shard-tokens", a.dataset.convert.shard_tokens, "most tokens in one shard")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--seed", words.seed, "seed of the order; the same as seed=N")->type_name("N");
  app.add_flag("--overwrite", a.dataset.convert.overwrite,
               "replace an existing result, and start again if the source has changed");
  add_print_options(app, a);
  add_log_options(app, a);
  app.footer(std::string(data_footer) +
             "Images become bytes: those of image_folder the middle 7/8 of the shorter side, at\n"
             "data.image.size (224). Until it is whole the result is called PATH.partial; after\n"
             "Ctrl+C or a kill the same command goes on there and makes the same bytes.\n\n"
             "  trainer dataset convert data.name=image_folder data.path=imagenet data.workers=8 "
             "--to imagenet.h5\n"
             "  trainer dataset convert data.name=tokens data.tokens.text=[a.txt,b.txt] "
             "data.tokens.vocabulary=gpt2 --to shards\n");
}

int run_dataset_convert(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  ConvertOptions options = arguments.dataset.convert;
  if (options.to.empty())
    fail(Category::config,
         "trainer dataset convert: the option --to is missing; add --to PATH, where the result is "
         "written");
  print_warnings(*resolved);
  // Until the first progress there is nothing to continue: begin_work() is called with it.
  StopSignals signals(stopping);
  ProgressLine line = make_progress_line("converted", arguments, resolved->config);
  options.stop = signals.flag();
  options.on_progress = [&](const WorkProgress& progress) {
    signals.begin_work();
    line.show(progress);
  };
  print_result_of(convert_dataset(resolved->config, options));
  return 0;
}

namespace {

constexpr size_t max_names = 12, max_numbers = 8, max_parts = 20;

// Joins the first elements of a list, with the number of all elements where more follow.
template <typename T>
std::string some(const std::vector<T>& all, size_t most) {
  std::vector<T> shown(all.begin(), all.begin() + std::ptrdiff_t(std::min(all.size(), most)));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  return all.size() > most ? fmt::format("{}, ... ({} in all)", text, all.size()) : text;
}

TextTable columns_of(const SampleSpec& spec) {
  TextTable table;
  for (const Column& column : spec.columns)
    table.push_back({column.name, std::string(to_string(column.dtype)), to_string(column.shape)});
  return table;
}

// Text of a half's samples per class.
std::string class_text(const SplitDescription& half) {
  auto [least, most] = std::ranges::minmax_element(half.class_counts);
  double mean = static_cast<double>(half.samples - half.labels_out_of_range) /
                static_cast<double>(half.class_counts.size());
  std::string text = fmt::format("min {}, max {}, mean {:.1f} samples per class",
                                 count_text(*least), count_text(*most), mean);
  if (half.labels_out_of_range > 0)
    text += fmt::format(", {} outside the classes", counted(half.labels_out_of_range, "label"));
  return text;
}

// Adds the rows that differ between training and test data.
void add_halves(Sections& parts, const DatasetDescription& data) {
  TextTable samples, classes, storage, layout, skipped;
  const char* shared = data.val.samples > 0 ? "all" : "both";
  for (auto [name, half] : {std::pair("train", &data.train), std::pair("test", &data.test),
                            std::pair("val", &data.val)}) {
    if (half->samples == 0) continue;
    samples.push_back({name, count_text(half->samples)});
    if (!half->class_counts.empty()) classes.push_back({name, class_text(*half)});
    if (half->files > 0 && (half == &data.train || !data.same_files))
      storage.push_back(
          {data.same_files ? shared : name, bytes_text(half->bytes), counted(half->files, "file")});
    for (size_t i = 0; i < std::min(half->layout.size(), max_parts); ++i)
      layout.push_back({half->layout[i]});
    if (half->layout.size() > max_parts)
      layout.push_back({fmt::format("... ({} in all)", half->layout.size())});
    if (half->skipped > 0)
      skipped.push_back({name, count_text(half->skipped), "the first: " + half->first_problem});
  }
  parts.add("samples", samples);
  if (data.spec.classes > 0)
    parts.add(
        "classes",
        count_text(data.spec.classes) +
            (data.spec.class_names.empty() ? "" : ": " + some(data.spec.class_names, max_names)));
  parts.add("of a class", classes);
  parts.add("on disk", storage);
  parts.add("layout", layout);
  parts.add("broken", skipped);
}

std::string text_of(const DatasetFacts& facts) {
  Sections parts;
  const DatasetDescription& data = facts.data;
  parts.add("data", data.name);
  TextTable table;
  for (const TableColumnFacts& column : facts.table)
    table.push_back({column.name, column.type, column.role});
  parts.add("table", table);
  if (!facts.refused.empty()) {
    parts.add("a run", "refuses it: " + facts.refused);
    return parts.text();
  }
  parts.add("columns", columns_of(data.spec));
  add_halves(parts, data);
  parts.add("mean", some(data.spec.normalization.mean, max_numbers));
  parts.add("deviation", some(data.spec.normalization.stddev, max_numbers));
  parts.add("features", some(data.spec.feature_names, max_names));
  parts.add("vocabulary", data.spec.vocabulary.substr(0, 60));
  return parts.text();
}

}  // namespace

void add_inspect_options(CLI::App& app, ParsedWords& words) {
  add_key_options(app, words);
  app.add_option("--format", words.arguments.dataset.inspected,
                 "a table for people, or one JSON object")
      ->check(CLI::IsMember({"auto", "table", "json"}))
      ->type_name("table|json");
  add_print_options(app, words.arguments);
  app.footer(data_footer);
}

int run_dataset_inspect(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  print_warnings(*resolved);
  DatasetFacts facts = dataset_facts(resolved->config.data);
  result_text(arguments.dataset.inspected == "json" ? facts.json : text_of(facts));
  return 0;
}

namespace {

// Returns "train  60 000 samples, 0 bad; 4 checksums compared".
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
  std::string samples = counted(result.bad(), "bad sample");
  std::string sums = counted(result.wrong(), "wrong checksum");
  if (result.wrong() == 0) return samples;
  return result.bad() == 0 ? sums : samples + " and " + sums;
}

// Prints the first bad rows of all parts, max_problems in all.
void print_problems(const VerifyResult& result) {
  size_t shown = 0;
  for (const SplitReport* half : {&result.train, &result.test, &result.val})
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
  result_text(half_text("train", result.train) + half_text("test", result.test) +
              (result.val.rows > 0 ? half_text("val", result.val) : ""));
  // A wrong checksum is never skipped: it does not say which rows are bad.
  bool empty = result.train.none_good || result.test.none_good || result.val.none_good;
  if (result.good() || (may_skip && result.wrong() == 0 && !empty)) return;
  fail(Category::data, "the dataset has {}; get an intact copy, or correct the samples listed{}",
       problems_text(result),
       result.bad() > 0 && config.data.on_error != DataConfig::OnError::skip
           ? ", or leave them out of runs with data.on_error: skip"
           : "");
}

void add_verify_options(CLI::App& app, ParsedWords& words) {
  add_key_options(app, words);
  add_print_options(app, words.arguments);
  add_log_options(app, words.arguments);
  app.footer(std::string(data_footer) +
             "Names the first 20 bad rows by file and place. Exit code: 0 if all rows are good, "
             "else 4.\n");
}

int run_dataset_verify(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  print_warnings(*resolved);
  verify_data(arguments, resolved->config, false);
  return 0;
}

}  // namespace spire
