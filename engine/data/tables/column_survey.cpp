#include "engine/data/tables/column_survey.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <optional>

#include "engine/base/fail.h"
#include "engine/base/text.h"

namespace spire {
namespace {

using Decimal = CsvConfig::Decimal;
using Dates = CsvConfig::Dates;

constexpr int64_t few_rows = 20;  // in fewer, words may differ by accident
constexpr size_t max_words_in_messages = 5;
constexpr int64_t max_words = 100'000;  // that are kept of a column, or as many as are levels
constexpr std::array<FieldForm, 6> forms_of_words = {FieldForm::point,     FieldForm::comma,
                                                     FieldForm::date,      FieldForm::month_first,
                                                     FieldForm::day_first, FieldForm::time};

bool is_number_form(FieldForm form) {
  return form == FieldForm::point || form == FieldForm::comma;
}

// Returns the unit that most of the numbers have; empty: they have none, or different ones.
std::string common_unit(const ColumnSurvey& survey, FieldForm form) {
  std::map<std::string_view, int64_t> count = {{"", survey.numbers}};
  int64_t all = survey.numbers;
  for (const auto& [word, times] : survey.count)
    if (auto number = written_number(word, form)) {
      count[number->unit] += times;
      all += times;
    }
  for (const auto& [unit, times] : count)
    if (2 * times > all) return std::string(unit);
  return "";
}

const FurtherWords::Form* further_of(const ColumnSurvey& survey, FieldForm form) {
  if (!survey.further) return nullptr;
  auto found = std::ranges::find(survey.further->forms, form,
                                 [](const FurtherWords::Form& each) { return each.reading.form; });
  return found == survey.further->forms.end() ? nullptr : &*found;
}

Reading reading_of(const ColumnSurvey& survey, FieldForm form) {
  Reading reading = {.form = form};
  const FurtherWords::Form* further = further_of(survey, form);
  if (is_number_form(form)) {
    reading.unit = further ? further->reading.unit : common_unit(survey, form);
    bool bare = takes_unit(reading.unit, "");
    // By a decimal comma 1.234 is a whole number, and 1.5 is none.
    int64_t plain =
        form == FieldForm::comma ? survey.numbers - survey.points + survey.groups : survey.numbers;
    reading.numbers = bare ? plain : 0;
  }
  TableColumn column = {.form = form, .unit = reading.unit};
  for (const auto& [word, times] : survey.count)
    if (number_in(column, word)) reading.numbers += times;
  if (further) reading.numbers += further->reading.numbers;
  return reading;
}

// Returns the survey with the words that the reading takes for numbers as such.
ColumnSurvey read_as(const Reading& reading, int64_t max_levels, ColumnSurvey survey) {
  survey.form = reading.form;
  survey.unit = reading.unit;
  TableColumn column = {.form = reading.form, .unit = reading.unit};
  for (auto word = survey.count.begin(); word != survey.count.end();) {
    std::optional<double> number = number_in(column, word->first);
    if (!number) {
      ++word;
      continue;
    }
    survey.numbers += word->second;
    survey.words -= word->second;
    survey.whole = survey.whole && is_number_form(reading.form) && std::trunc(*number) == *number;
    if (std::ssize(survey.different_numbers) <= max_levels)
      survey.different_numbers.insert(*number);
    word = survey.count.erase(word);
  }
  if (const FurtherWords::Form* further = further_of(survey, reading.form)) {
    survey.numbers += further->reading.numbers;
    survey.words -= further->reading.numbers;
    survey.whole = survey.whole && is_number_form(reading.form) && further->whole;
    survey.further->words = survey.further->unread;
  }
  return survey;
}

// Decides by the words that are kept which forms are likely.
FurtherWords begin_further(const ColumnSurvey& survey) {
  FurtherWords further;
  int64_t most = 0;
  std::vector<int64_t> numbers;
  for (FieldForm form : forms_of_words) {
    Reading reading = reading_of(survey, form);
    numbers.push_back(reading.numbers);
    most = std::max(most, reading.numbers);
    reading.numbers = 0;
    further.forms.push_back({.reading = std::move(reading)});
  }
  for (size_t f = 0; f < numbers.size(); ++f)
    further.forms[f].likely = most > 0 && numbers[f] == most;
  return further;
}

// Returns whether a form that is likely, or else one that is not, reads the word.
bool read_further(const std::string& word, bool likely, FurtherWords& further) {
  if (word.find_first_of("0123456789") == word.npos) return false;
  bool read = false;
  for (FurtherWords::Form& form : further.forms) {
    if (form.likely != likely) continue;
    auto number = number_in({.form = form.reading.form, .unit = form.reading.unit}, word);
    if (!number) continue;
    read = true;
    ++form.reading.numbers;
    form.whole = form.whole && std::trunc(*number) == *number;
  }
  return read;
}

void add_word(const std::string& word, int64_t max_levels, ColumnSurvey& survey) {
  ++survey.words;
  if (!survey.further) {
    ++survey.count[word];
    if (std::ssize(survey.count) > std::max(max_words, max_levels))
      survey.further = begin_further(survey);
    return;
  }
  FurtherWords& further = *survey.further;
  bool read = read_further(word, true, further);
  if (auto known = survey.count.find(word); !read && known != survey.count.end()) {
    ++known->second;
    return;
  }
  further.words.add(word);
  if (!read && !read_further(word, false, further)) further.unread.add(word);
}

struct Readings {
  Reading point, comma, dates;
  bool dates_differ = false;  // month_first and day_first read as many of them, with other results

  int64_t most() const { return std::max({point.numbers, comma.numbers, dates.numbers}); }
};

Reading best_dates(const CsvConfig& config, const ColumnSurvey& survey, bool& differ) {
  Reading date = reading_of(survey, FieldForm::date), time = reading_of(survey, FieldForm::time);
  Reading month = reading_of(survey, FieldForm::month_first);
  Reading day = reading_of(survey, FieldForm::day_first);
  if (config.dates == Dates::month_first) day.numbers = 0;
  if (config.dates == Dates::day_first) month.numbers = 0;
  differ = month.numbers == day.numbers && month.numbers > date.numbers;
  Reading best = date;  // of equal ones the earlier
  for (const Reading& other : {month, day, time})
    if (other.numbers > best.numbers) best = other;
  return best;
}

Readings readings_of(const CsvConfig& config, const ColumnSurvey& survey) {
  Readings found;
  found.dates.form = FieldForm::date;
  if (config.decimal != Decimal::comma) found.point = reading_of(survey, FieldForm::point);
  if (config.decimal != Decimal::point) found.comma = reading_of(survey, FieldForm::comma);
  if (survey.words > 0) found.dates = best_dates(config, survey, found.dates_differ);
  return found;
}

// Whether a form reads words as numbers, most fields, and not others than are numbers already.
bool helps(const Reading& reading, const ColumnSurvey& survey) {
  return reading.numbers > survey.numbers && 2 * reading.numbers > survey.filled();
}

std::string word_read_twice(const ColumnSurvey& survey) {
  for (const auto& [word, times] : survey.count) {
    auto point = written_number(word, FieldForm::point),
         comma = written_number(word, FieldForm::comma);
    if (point && comma && point->value != comma->value) return word;
  }
  return "";
}

// What the whole file says of the decimal mark: fields that only one of them reads.
struct DecimalEvidence {
  bool comma = false, point = false;
};

DecimalEvidence evidence_in(const std::vector<ColumnSurvey>& columns,
                            const std::vector<Readings>& readings) {
  DecimalEvidence found;
  for (size_t c = 0; c < columns.size(); ++c) {
    const Readings& of = readings[c];
    if (helps(of.comma, columns[c]) && of.comma.numbers > of.point.numbers) found.comma = true;
    if (helps(of.point, columns[c]) && of.point.numbers > of.comma.numbers) found.point = true;
    if (columns[c].points > columns[c].groups) found.point = true;
  }
  return found;
}

// Chooses among readings of equally many numbers.
const Reading& number_reading(const Readings& of, bool commas) {
  if (of.point.numbers != of.comma.numbers)
    return of.point.numbers > of.comma.numbers ? of.point : of.comma;
  return commas ? of.comma : of.point;
}

void choose_form(const Readings& of, bool commas, bool certain, int64_t max_levels,
                 ColumnSurvey& survey) {
  Reading best = number_reading(of, commas);
  bool by_date = of.dates.numbers > best.numbers;
  if (by_date) best = of.dates;
  // In a file of decimal commas 1.234 is a whole number, though it looks like a fraction.
  bool groups =
      commas && certain && survey.words == 0 && survey.points > 0 && survey.points == survey.groups;
  if (groups) best = of.comma;
  if (!groups && !helps(best, survey)) return;
  ColumnSurvey read = read_as(best, max_levels, survey);
  if (has_words(read, max_levels)) return;
  bool doubtful = !certain && !by_date && of.point.numbers == of.comma.numbers;
  if (doubtful) read.ambiguous = word_read_twice(survey);
  survey = std::move(read);
}

bool is_nearly_a_number(std::string_view word) {
  auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  size_t first = word.find_first_not_of("+-(.,");
  return first != word.npos && is_digit(word[first]) &&
         2 * std::ranges::count_if(word, is_digit) >= std::ssize(word);
}

}  // namespace

void add_field(const std::string& text, std::span<const std::string> marks, int64_t max_levels,
               ColumnSurvey& survey) {
  if (is_blank(text, marks)) return;
  std::optional<double> number = finite_number(text);
  if (!number) {
    add_word(std::string(trimmed(text)), max_levels, survey);
    return;
  }
  ++survey.numbers;
  survey.whole = survey.whole && std::trunc(*number) == *number;
  if (text.find('.') != text.npos) {
    ++survey.points;
    survey.groups += written_number(text, FieldForm::comma) ? 1 : 0;
  }
  if (std::ssize(survey.different_numbers) <= max_levels) survey.different_numbers.insert(*number);
}

void choose_forms(const CsvConfig& config, bool semicolons,
                  const std::function<std::string(size_t column)>& name_of,
                  std::vector<ColumnSurvey>& columns) {
  std::vector<Readings> readings;
  for (const ColumnSurvey& survey : columns) readings.push_back(readings_of(config, survey));
  DecimalEvidence evidence = evidence_in(columns, readings);
  bool certain = config.decimal != Decimal::automatic || evidence.comma != evidence.point;
  bool commas = config.decimal == Decimal::comma || (evidence.comma && !evidence.point) ||
                (config.decimal == Decimal::automatic && !certain && semicolons);
  for (size_t c = 0; c < columns.size(); ++c) {
    const Readings& of = readings[c];
    if (of.dates_differ && helps(of.dates, columns[c]) && of.dates.numbers == of.most())
      fail(Category::data,
           "{}: are its dates ({}) day first or month first? No field shows it; set "
           "data.csv.dates: day_first or month_first",
           name_of(c), some_words(columns[c]));
    choose_form(of, commas, certain, config.max_levels, columns[c]);
  }
}

bool has_words(const ColumnSurvey& survey, int64_t max_levels) {
  if (2 * survey.words > survey.filled()) return true;
  auto recurs = [](const auto& word) { return word.second > 1; };
  return survey.words > 0 && survey.whole && std::ranges::all_of(survey.count, recurs) &&
         survey.different() <= max_levels && 2 * survey.different() <= survey.filled();
}

bool marks_rows(const ColumnSurvey& survey) {
  return survey.words >= few_rows && 2 * survey.different() > survey.filled();
}

bool are_nearly_numbers(const ColumnSurvey& survey) {
  int64_t nearly = 0, words = 0;
  for (const auto& [word, times] : survey.count) {
    nearly += is_nearly_a_number(word) ? times : 0;
    words += times;
  }
  return 2 * nearly > words;
}

std::string some_words(const ColumnSurvey& survey) {
  std::vector<std::string> words;
  for (const auto& [word, count] : survey.count) words.push_back(word);
  return quoted_list(words, max_words_in_messages);
}

}  // namespace spire
