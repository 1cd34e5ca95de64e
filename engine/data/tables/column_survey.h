// What the columns of a table hold, by the fields of their training rows: numbers, dates or words,
// and how they are written.
#pragma once
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spire/run_config.h>

#include "engine/base/hash.h"
#include "engine/data/tables/field_text.h"

namespace spire {

// Estimates the number of different words among any number of words, in little memory. It keeps the
// `kept` smallest hashes, whose largest tells how densely hashes lie. Exact below `kept` words,
// else within some percent; the same words in any order give the same number.
class WordSketch {
 public:
  void add(std::string_view word) {
    uint64_t hash = hash64(word.data(), word.size());
    if (hashes_.size() == kept && hash >= *hashes_.rbegin()) return;
    hashes_.insert(hash);
    if (hashes_.size() > kept) hashes_.erase(std::prev(hashes_.end()));
  }
  int64_t different() const {
    if (hashes_.size() < kept) return static_cast<int64_t>(hashes_.size());
    return static_cast<int64_t>((kept - 1) / (static_cast<double>(*hashes_.rbegin()) * 0x1p-64));
  }

 private:
  static constexpr size_t kept = 4096;
  std::set<uint64_t> hashes_;
};

// A form of numbers, and how many fields of a column it reads as numbers.
struct Reading {
  FieldForm form = FieldForm::plain;
  std::string unit = {};
  int64_t numbers = 0;
};

// Counts of the words that ColumnSurvey::count does not keep, because the column has too many
// different ones.
struct FurtherWords {
  struct Form {
    Reading reading;      // numbers: of the further words
    bool whole = true;    // all of these numbers are whole
    bool likely = false;  // reads most of the kept words; other forms are tried if likely ones fail
  };
  std::vector<Form> forms;
  WordSketch words, unread;  // all further words, and those that no form reads
};

struct ColumnSurvey {
  FieldForm form = FieldForm::plain;  // of the numbers
  std::string unit = {};
  int64_t numbers = 0, words = 0;
  int64_t points = 0;                         // numbers with a point: 1.5, 1.234
  int64_t groups = 0;                         // of these, numbers that may be thousands: 1.234
  bool whole = true;                          // all numbers are whole
  std::set<double> different_numbers = {};    // at most max_levels + 1 of them
  std::map<std::string, int64_t> count = {};  // of each word that is kept
  std::optional<FurtherWords> further = {};   // nullopt: all words are kept
  // A number that has another value with the other decimal mark, if no field of the file decides
  // between the marks; empty: there is none.
  std::string ambiguous = {};

  int64_t filled() const { return numbers + words; }
  int64_t different() const {
    int64_t more = further ? further->words.different() : 0;
    return std::ssize(different_numbers) + std::ssize(count) + more;
  }
};

// Counts a field. After very many different words further ones are not kept, but counted by the
// forms that read them (FurtherWords). marks: texts of empty fields, which are not counted.
void add_field(const std::string& text, std::span<const std::string> marks, int64_t max_levels,
               ColumnSurvey& survey);

// Chooses the form of each column; words that the form reads then count as numbers. semicolons:
// whether the file's separator is a semicolon, which suggests decimal commas. name_of: returns a
// column's name for messages. Throws Error(data) for dates whose order of day and month no field
// shows.
void choose_forms(const CsvConfig& config, bool semicolons,
                  const std::function<std::string(size_t column)>& name_of,
                  std::vector<ColumnSurvey>& columns);

// Returns whether a column is one of words, not of numbers: most of its fields are words, or the
// words recur among a few whole numbers, as in 2, 3, 4, 5more. Other words among numbers are
// mistakes.
bool has_words(const ColumnSurvey& survey, int64_t max_levels);

// Returns whether values occur less than twice on average, so that they mark rows: names, keys.
bool marks_rows(const ColumnSurvey& survey);

// Returns whether most words begin with a digit and consist mostly of digits: rather numbers in an
// unknown form.
bool are_nearly_numbers(const ColumnSurvey& survey);

std::string some_words(const ColumnSurvey& survey);  // for messages

}  // namespace spire
