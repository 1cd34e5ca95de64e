// trainer dataset inspect: prints columns, classes and files of a dataset.
#include <algorithm>
#include <numeric>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/data/dataset.h"
#include "engine/observe/text_table.h"
#include "engine/observe/units.h"
#include "tools/commands.h"
#include "tools/config_source.h"
#include "tools/output/streams.h"

namespace spire::tool {

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

void add_halves(Sections& sections, const DatasetDescription& data) {
  TextTable samples, classes, storage, layout, skipped;
  for (auto [name, half] : {std::pair("train", &data.train), std::pair("test", &data.test)}) {
    samples.push_back({name, count_text(half->samples)});
    if (!half->class_counts.empty()) classes.push_back({name, class_text(*half)});
    if (half->files > 0 && (half == &data.train || !data.same_files))
      storage.push_back(
          {data.same_files ? "both" : name, bytes_text(half->bytes), counted(half->files, "file")});
    for (size_t i = 0; i < std::min(half->layout.size(), max_parts); ++i)
      layout.push_back({half->layout[i]});
    if (half->layout.size() > max_parts)
      layout.push_back({fmt::format("... ({} in all)", half->layout.size())});
    if (half->skipped > 0)
      skipped.push_back({name, count_text(half->skipped), "the first: " + half->first_problem});
  }
  sections.add("samples", samples);
  if (data.spec.classes > 0)
    sections.add(
        "classes",
        count_text(data.spec.classes) +
            (data.spec.class_names.empty() ? "" : ": " + some(data.spec.class_names, max_names)));
  sections.add("of a class", classes);
  sections.add("on disk", storage);
  sections.add("layout", layout);
  sections.add("broken", skipped);
}

std::string text_of(const DatasetDescription& data) {
  Sections sections;
  sections.add("data", data.name);
  sections.add("columns", columns_of(data.spec));
  add_halves(sections, data);
  sections.add("mean", some(data.spec.normalization.mean, max_numbers));
  sections.add("deviation", some(data.spec.normalization.stddev, max_numbers));
  sections.add("features", some(data.spec.feature_names, max_names));
  sections.add("vocabulary", data.spec.vocabulary.substr(0, 60));
  return sections.text();
}

}  // namespace

int run_dataset_inspect(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  print_warnings(*resolved);
  DatasetDescription data = describe_dataset(resolved->config.data);
  print_result("{}", arguments.dataset.format == "json" ? to_json(data) : text_of(data));
  return 0;
}

}  // namespace spire::tool
