#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>

#include "engine/base/fail.h"
#include "engine/data/tables/csv_table.h"

namespace spire {
namespace {

constexpr size_t max_classes_of_numbers = 100;

// Distinct targets of the training rows.
struct TargetStatistics {
  std::set<double> numbers;     // distinct, ascending
  std::set<std::string> texts;  // distinct, as written
  std::vector<size_t> words;    // rows whose target is no number
};

TargetStatistics statistics_of(const CsvRows& rows) {
  TargetStatistics found;
  for (size_t row = 0; row < rows.count(); ++row) {
    std::optional<double> number = finite_number(rows.targets[row]);
    if (number) {
      found.numbers.insert(*number + 0.0);  // -0 is 0
    } else {
      found.words.push_back(row);
    }
    found.texts.insert(rows.targets[row]);
  }
  return found;
}

// Refuses targets of which some are numbers and some words: missing numbers, or classes of both
// kinds. Names the first target of the rarer kind.
[[noreturn]] void refuse_mixture(const std::filesystem::path& path, const CsvRows& rows,
                                 const TargetStatistics& found) {
  size_t words = found.words.size(), numbers = rows.count() - words, row = found.words[0];
  bool few_words = words <= numbers;
  while (!few_words && !finite_number(rows.targets[row])) row = (row + 1) % rows.count();
  fail(Category::data,
       "{}: the target '{}' is {}, but {} of {} rows have {}; correct it, or say what the target "
       "is: data.csv.task: value (rows without a number are broken, and left out by "
       "data.on_error: skip), or class (each number and word a class)",
       to_string(path, rows.positions[row]), rows.targets[row],
       few_words ? "not a number" : "a number", few_words ? numbers : words, rows.count(),
       few_words ? "numbers" : "words");
}

// Refuses classes of about a row each: rather a regression, or the wrong column.
void refuse_too_many_classes(const std::filesystem::path& path, const CsvRows& rows,
                             size_t classes) {
  constexpr size_t few_classes = 10;
  if (classes <= few_classes || classes * 2 <= rows.count()) return;
  fail(Category::data,
       "{}: {} different targets in {} rows are hardly classes; check data.csv.target, or say what "
       "the target is by data.csv.task: class or value",
       path.string(), classes, rows.count());
}

// Notes class names that programs write for a missing value.
void note_missing(const std::filesystem::path& path, const std::vector<std::string>& classes,
                  std::vector<std::string>& notes) {
  constexpr std::array missing = {"NA",  "N/A",  "na",   "n/a",  "NaN",
                                  "nan", "NULL", "null", "None", "?"};
  for (const std::string& name : classes)
    if (std::ranges::count(missing, name) > 0)
      notes.push_back(
          fmt::format("{}: the target '{}' is taken for a class; remove the rows that have it if "
                      "it stands for nothing",
                      path.string(), name));
}

// Numbers are values rather than classes when there are many, or one has a fraction.
bool look_like_regression(const std::set<double>& numbers) {
  auto whole = [](double number) { return std::trunc(number) == number; };
  return numbers.size() > max_classes_of_numbers || !std::ranges::all_of(numbers, whole);
}

// Returns the class name of a target: of numbers one spelling, so that 1, 01 and 1.0 are one class.
std::string class_of(const std::string& target, bool numbers) {
  std::optional<double> number = numbers ? finite_number(target) : std::nullopt;
  return number ? fmt::format("{}", *number + 0.0) : target;
}

// Returns the target as EncodedRow holds it; nullopt: it is not of the column's type.
std::optional<uint32_t> bits_of(const std::string& target, const CsvTargets& targets) {
  if (targets.regression) {
    std::optional<double> number = finite_number(target);
    if (!number || std::abs(*number) > largest_number) return {};
    return std::bit_cast<uint32_t>(static_cast<float>(*number));
  }
  auto found = targets.labels.find(class_of(target, targets.numeric));
  if (found == targets.labels.end()) return {};
  return static_cast<uint32_t>(found->second);
}

void number_classes(CsvTargets& targets) {
  for (const std::string& name : targets.class_names)
    targets.labels.emplace(name, static_cast<int32_t>(targets.labels.size()));
}

}  // namespace

// auto: regression when all targets are numbers and one has a fraction, or more than 100 are
// distinct; else classes. Ambiguous: words among numbers, or about as many classes as rows.
CsvTargets csv_targets(const std::filesystem::path& path, const CsvRows& rows,
                       const CsvConfig& config, std::vector<std::string>& notes) {
  TargetStatistics found = statistics_of(rows);
  bool guess = config.task == TargetKind::automatic;
  if (guess && !found.words.empty() && !found.numbers.empty()) refuse_mixture(path, rows, found);
  CsvTargets targets;
  targets.numeric = found.words.empty();
  targets.regression = config.task == TargetKind::values ||
                       (guess && targets.numeric && look_like_regression(found.numbers));
  if (targets.regression) return targets;
  if (targets.numeric) {
    for (double number : found.numbers) targets.class_names.push_back(fmt::format("{}", number));
  } else {
    targets.class_names.assign(found.texts.begin(), found.texts.end());
  }
  // Only auto needs this check: data.csv.task is taken as right.
  if (guess) refuse_too_many_classes(path, rows, targets.class_names.size());
  note_missing(path, targets.class_names, notes);
  if (targets.class_names.size() < 2)
    fail(Category::data, "{}: all rows are of the class '{}'; check data.csv.target and the file",
         path.string(), targets.class_names[0]);
  number_classes(targets);
  return targets;
}

CsvTargets trained_targets(const SampleSpec& trained) {
  CsvTargets targets;
  targets.regression = trained.find("values") != nullptr;
  targets.class_names = trained.class_names;
  targets.numeric = std::ranges::all_of(
      targets.class_names, [](const std::string& name) { return finite_number(name).has_value(); });
  number_classes(targets);
  return targets;
}

std::vector<EncodedRow> encode_targets(const std::filesystem::path& path, const CsvRows& rows,
                                       const CsvTargets& targets, RejectedRows& rejected) {
  std::vector<EncodedRow> encoded;
  for (size_t row = 0; row < rows.count(); ++row) {
    const std::string& target = rows.targets[row];
    if (std::optional<uint32_t> bits = bits_of(target, targets)) {
      encoded.push_back({row, *bits});
    } else {
      std::string problem =
          !targets.regression
              ? fmt::format("not one of the {} classes of the training rows", targets.labels.size())
          : finite_number(target) ? fmt::format("too large: numbers end at {:.2g}", largest_number)
                                  : "not a number";
      rejected.add(path, rows.positions[row],
                   fmt::format("the target '{}' is {}", target, problem));
    }
  }
  return encoded;
}

}  // namespace spire
