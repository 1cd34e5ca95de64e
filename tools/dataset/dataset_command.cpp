// trainer dataset: convert writes any dataset as one HDF5 file, or a text as token shards; inspect
// prints its columns, classes and files; verify reads every row once and compares checksums.
#include <algorithm>

#include <fmt/ranges.h>

#include <spire/dataset.h>
#include <spire/dataset_tools.h>
#include <spire/error.h>

#include "engine/base/text.h"
#include "tools/commands.h"
#include "tools/config_source.h"
#include "tools/output/progress.h"
#include "tools/output/streams.h"
#include "tools/process/signals.h"

namespace spire {

namespace {

using Parts = std::vector<TitledTable>;

// An empty line is left out.
void add_line(Parts& parts, const char* title, const std::string& line) {
  if (!line.empty()) parts.push_back({title, {{line}}});
}

constexpr std::string_view stopping =
    "\nstopping: repeat the same command to continue; press Ctrl+C again to end at once\n";

// Prints size, samples and the keys with which a run reads the result.
void print_result_of(const ConvertResult& result) {
  const char* unit = result.format == "tokens" ? "tokens" : "samples";
  Parts parts;
  add_line(parts, "written", fmt::format("{}, {}", result.path.string(), bytes_text(result.bytes)));
  add_line(parts, "samples",
           fmt::format(
               "{} {} for training, {} for testing{}", count_text(result.train), unit,
               count_text(result.test),
               result.val > 0 ? fmt::format(", {} for validation", count_text(result.val)) : ""));
  if (result.skipped > 0)
    add_line(parts, "replaced",
             fmt::format("{}; the first: {}", counted(result.skipped, "broken sample"),
                         result.first_problem));
  add_line(parts, "to read it",
           fmt::format("data.name={} data.path={}", result.format, result.path.string()));
  result_text(report_text(parts));
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
  // Until the first progress there is nothing to continue: begin_work() is called with it.
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
    table.push_back({column.name, std::string(name(column.dtype)), to_string(column.shape)});
  return table;
}

// Text of a half's samples per class.
std::string class_text(const SplitFacts& half) {
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
void add_halves(Parts& parts, const DatasetFacts& data) {
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
  parts.push_back({"samples", samples});
  if (data.spec.classes > 0)
    add_line(
        parts, "classes",
        count_text(data.spec.classes) +
            (data.spec.class_names.empty() ? "" : ": " + some(data.spec.class_names, max_names)));
  parts.push_back({"of a class", classes});
  parts.push_back({"on disk", storage});
  parts.push_back({"layout", layout});
  parts.push_back({"broken", skipped});
}

std::string text_of(const DatasetFacts& data) {
  Parts parts;
  add_line(parts, "data", data.name);
  TextTable table;
  for (const TableColumnFacts& column : data.table)
    table.push_back({column.name, column.type, column.role});
  parts.push_back({"table", table});
  if (!data.refused.empty()) {
    add_line(parts, "a run", "refuses it: " + data.refused);
    return report_text(parts);
  }
  parts.push_back({"columns", columns_of(data.spec)});
  add_halves(parts, data);
  add_line(parts, "mean", some(data.spec.normalization.mean, max_numbers));
  add_line(parts, "deviation", some(data.spec.normalization.stddev, max_numbers));
  add_line(parts, "features", some(data.spec.feature_names, max_names));
  add_line(parts, "vocabulary", data.spec.vocabulary.substr(0, 60));
  return report_text(parts);
}

}  // namespace

int run_dataset_inspect(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  print_warnings(*resolved);
  DatasetFacts data = dataset_facts(resolved->config.data);
  result_text(arguments.dataset.format == "json" ? data.json : text_of(data));
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

int run_dataset_verify(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  print_warnings(*resolved);
  verify_data(arguments, resolved->config, false);
  return 0;
}

}  // namespace spire
