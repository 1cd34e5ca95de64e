// Finds the separator of a table.
#include <algorithm>
#include <array>
#include <tuple>

#include <spire/error.h>

#include "engine/data/tables/csv_table.h"

namespace spire::inline data {
namespace {

constexpr int sampled_records = 20;

struct Candidate {
  CsvConfig::Separator word;
  char separator;
};

// Of equal ones the earlier wins. Blanks come last: they stand in names and texts, too.
constexpr std::array separator_words = {
    Candidate{CsvConfig::Separator::comma, ','}, Candidate{CsvConfig::Separator::semicolon, ';'},
    Candidate{CsvConfig::Separator::tab, '\t'}, Candidate{CsvConfig::Separator::pipe, '|'},
    Candidate{CsvConfig::Separator::space, ' '}};

// What a separator makes of the first records.
struct Trial {
  size_t fields = 0;  // of the first record
  bool even = true;   // all records have as many, at least 2
  bool clean = true;  // no field has one of the other separators, but for decimal commas

  auto rank() const { return std::tuple(even, even && clean, fields); }
};

bool is_clean(std::string_view text, char separator) {
  for (char other : {',', ';', '\t', '|'})
    if (other != separator && text.find(other) != text.npos)
      return other == ',' && written_number(text, FieldForm::comma);
  return true;
}

Trial tried(const std::filesystem::path& path, char separator) {
  Trial trial;
  auto reader = open_records(path, separator);
  CsvRecord record;
  int count = 0;
  try {
    for (; count < sampled_records && reader->next(record); ++count) {
      if (count == 0) trial.fields = record.fields.size();
      if (record.fields.size() != trial.fields || trial.fields < 2) trial.even = false;
      for (const CsvField& field : record.fields)
        trial.clean = trial.clean && (count == 0 || is_clean(field.text, separator));
    }
  } catch (const Error& error) {
    // Quotes that this separator misplaces; what is wrong with the right one is reported by it.
    if (error.category() != Category::data || count == 0) throw;
    trial.even = false;
  }
  if (count == 0) fail(Category::data, "{}: contains no rows; get an intact copy", path.string());
  return trial;
}

}  // namespace

char csv_separator(const std::filesystem::path& path, const CsvConfig& config) {
  if (is_arrow_file(path)) return ',';
  char best = ',';
  Trial most;
  most.even = false;
  for (const auto& [word, separator] : separator_words) {
    if (config.separator == word) return separator;
    if (config.separator != CsvConfig::Separator::automatic) continue;
    if (separator == ' ' && most.fields > 1) continue;
    Trial trial = tried(path, separator);
    if (separator == ' ' && !trial.even) continue;
    if (trial.rank() <= most.rank()) continue;
    best = separator;
    most = trial;
  }
  return best;
}

}  // namespace spire::inline data
