#include <spire/base/error.h>
#include <spire/data/csv_targets.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace spire {
namespace {

constexpr size_t most_classes_of_numbers = 100;

// All targets as numbers, in ascending order and each once; nothing when one is a word.
std::optional<std::set<double>> numbers_of(const CsvRows& rows) {
  std::set<double> numbers;
  for (const std::string& target : rows.targets) {
    std::optional<double> number = finite_number(target);
    if (!number) return {};
    numbers.insert(*number + 0.0);  // -0 is 0
  }
  return numbers;
}

bool look_like_values(const std::set<double>& numbers) {
  auto whole = [](double number) { return std::trunc(number) == number; };
  return numbers.size() > most_classes_of_numbers || !std::ranges::all_of(numbers, whole);
}

std::string class_of(const std::string& target, bool numbers) {
  std::optional<double> number = numbers ? finite_number(target) : std::nullopt;
  return number ? fmt::format("{}", *number + 0.0) : target;
}

}  // namespace

CsvTargets csv_targets(const std::filesystem::path& path, const CsvRows& rows,
                       const CsvConfig& config) {
  std::optional<std::set<double>> numbers = numbers_of(rows);
  CsvTargets targets;
  targets.values =
      config.task == "value" || (config.task == "auto" && numbers && look_like_values(*numbers));
  if (targets.values) return targets;
  targets.numbers = numbers.has_value();
  if (numbers) {
    for (double number : *numbers) targets.class_names.push_back(fmt::format("{}", number));
  } else {
    std::set<std::string> words(rows.targets.begin(), rows.targets.end());
    targets.class_names.assign(words.begin(), words.end());
  }
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

}  // namespace spire
