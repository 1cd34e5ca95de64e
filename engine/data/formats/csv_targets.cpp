#include "engine/data/formats/csv_targets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <spire/error.h>

namespace spire::inline data {
namespace {

constexpr size_t max_classes_of_numbers = 100;

// What the targets are, one by one.
struct Found {
  std::set<double> numbers;     // ascending, each once
  std::set<std::string> texts;  // all targets as they are written
  std::vector<size_t> words;    // rows whose target is no number
};

Found look_at(const CsvRows& rows) {
  Found found;
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

// Some targets are numbers, some are not: missing numbers, or classes of both kinds. Names the
// first of those that are fewer.
[[noreturn]] void refuse_mixture(const std::filesystem::path& path, const CsvRows& rows,
                                 const Found& found) {
  size_t words = found.words.size(), numbers = rows.count() - words, row = found.words[0];
  bool few_words = words <= numbers;
  while (!few_words && !finite_number(rows.targets[row])) row = (row + 1) % rows.count();
  fail(Category::data,
       "{}: the target '{}' is {}, but {} of {} rows have {}; correct it, or say what the target "
       "is: data.csv.task: value (rows without a number are broken, and left out by "
       "data.on_error: skip), or class (each number and word a class)",
       to_string(path, rows.places[row]), rows.targets[row],
       few_words ? "not a number" : "a number", few_words ? numbers : words, rows.count(),
       few_words ? "numbers" : "words");
}

// Classes of about a row each are more likely numbers to be found, or the wrong column.
void require_rows_a_class(const std::filesystem::path& path, const CsvRows& rows, size_t classes) {
  constexpr size_t few_classes = 10;
  if (classes <= few_classes || classes * 2 <= rows.count()) return;
  fail(Category::data,
       "{}: {} different targets in {} rows are hardly classes; check data.csv.target, or say what "
       "the target is by data.csv.task: class or value",
       path.string(), classes, rows.count());
}

// Programs write these where they have nothing to write.
void note_missing(const std::filesystem::path& path, const std::vector<std::string>& classes,
                  std::vector<std::string>& notes) {
  for (const std::string& name : classes)
    for (const char* missing :
         {"NA", "N/A", "na", "n/a", "NaN", "nan", "NULL", "null", "None", "?"})
      if (name == missing)
        notes.push_back(
            fmt::format("{}: the target '{}' is taken for a class; remove the rows that have it if "
                        "it stands for nothing",
                        path.string(), name));
}

bool look_like_values(const std::set<double>& numbers) {
  auto whole = [](double number) { return std::trunc(number) == number; };
  return numbers.size() > max_classes_of_numbers || !std::ranges::all_of(numbers, whole);
}

std::string class_of(const std::string& target, bool numbers) {
  std::optional<double> number = numbers ? finite_number(target) : std::nullopt;
  return number ? fmt::format("{}", *number + 0.0) : target;
}

}  // namespace

CsvTargets csv_targets(const std::filesystem::path& path, const CsvRows& rows,
                       const CsvConfig& config, std::vector<std::string>& notes) {
  Found found = look_at(rows);
  bool guess = config.task == TargetKind::automatic;
  if (guess && !found.words.empty() && !found.numbers.empty()) refuse_mixture(path, rows, found);
  CsvTargets targets;
  targets.numbers = found.words.empty();
  targets.values = config.task == TargetKind::values ||
                   (guess && targets.numbers && look_like_values(found.numbers));
  if (targets.values) return targets;
  if (targets.numbers) {
    for (double number : found.numbers) targets.class_names.push_back(fmt::format("{}", number));
  } else {
    targets.class_names.assign(found.texts.begin(), found.texts.end());
  }
  if (guess) require_rows_a_class(path, rows, targets.class_names.size());
  note_missing(path, targets.class_names, notes);
  if (targets.class_names.size() < 2)
    fail(Category::data, "{}: all rows are of the class '{}'; check data.csv.target and the file",
         path.string(), targets.class_names[0]);
  for (const std::string& name : targets.class_names)
    targets.labels.emplace(name, static_cast<int32_t>(targets.labels.size()));
  return targets;
}

EncodedTargets encode_targets(const std::filesystem::path& path, const CsvRows& rows,
                              const CsvTargets& targets, BrokenRows& broken) {
  constexpr double most = std::numeric_limits<float>::max();
  EncodedTargets encoded;
  for (size_t row = 0; row < rows.count(); ++row) {
    const std::string& target = rows.targets[row];
    if (targets.values) {
      std::optional<double> number = finite_number(target);
      if (!number || std::abs(*number) > most) {
        broken.add(path, rows.places[row], fmt::format("the target '{}' is not a number", target));
        continue;
      }
      encoded.values.push_back(static_cast<float>(*number));
    } else {
      auto found = targets.labels.find(class_of(target, targets.numbers));
      if (found == targets.labels.end()) {
        broken.add(path, rows.places[row],
                   fmt::format("the target '{}' is not one of the {} classes of the training rows",
                               target, targets.labels.size()));
        continue;
      }
      encoded.labels.push_back(found->second);
    }
    encoded.kept.push_back(row);
  }
  return encoded;
}

}  // namespace spire::inline data
