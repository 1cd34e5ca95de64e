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

// About how many different words there are, of any number of them, in little memory.

// Keeps the smallest hashes: the largest of them tells how close they lie. Exact below `kept`
// words, else within some percent; the same words in any order give the same number.
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

// A form, and how many numbers a column has by it.
struct Reading {
  FieldForm form = FieldForm::plain;
  std::string unit = {};
  int64_t numbers = 0;
};

// What is counted of the words of a column that has too many different ones to keep them.
struct FurtherWords {
  struct Form {
    Reading reading;      // numbers: of the further words
    bool whole = true;    // all of these are
    bool likely = false;  // reads as many of the words kept as any: the others are tried behind it
  };
  std::vector<Form> forms;
  WordSketch words, unread;  // unread: that no form reads
};

struct ColumnSurvey {
  FieldForm form = FieldForm::plain;  // of the numbers
  std::string unit = {};
  int64_t numbers = 0, words = 0;
  int64_t points = 0;                         // numbers with a decimal point
  int64_t groups = 0;                         // of these, the ones that may be thousands: 1.234
  bool whole = true;                          // all numbers are
  std::set<double> different_numbers = {};    // no more than are levels, and one
  std::map<std::string, int64_t> count = {};  // of each word, but for further ones
  std::optional<FurtherWords> further = {};   // none: there are no more words than are kept
  // A number that the other decimal mark would read otherwise, where no other field of the file
  // says which it is; empty: there is none.
  std::string ambiguous = {};

  int64_t filled() const { return numbers + words; }
  int64_t different() const {
    int64_t more = further ? further->words.different() : 0;
    return std::ssize(different_numbers) + std::ssize(count) + more;
  }
};

// Counts a field. Behind so many different words that they say what the forms are, further ones are
// counted by the likely forms alone, and by all where these fail. marks: of empty fields.
void add_field(const std::string& text, std::span<const std::string> marks, int64_t max_levels,
               ColumnSurvey& survey);

// Chooses the form of each column, which makes numbers of words that it reads. semicolons: the
// file's separator, as where commas are decimal marks. name_of: of a column, for messages. Throws
// Error(data) for dates whose order of day and month nothing shows.
void choose_forms(const CsvConfig& config, bool semicolons,
                  const std::function<std::string(size_t column)>& name_of,
                  std::vector<ColumnSurvey>& columns);

// Whether a column has words rather than numbers: most of its fields are, or the words recur among
// a few whole numbers, as in 2, 3, 4, 5more. Other words among numbers are mistakes.
bool has_words(const ColumnSurvey& survey, int64_t max_levels);

// Whether each word marks a row or two: names, keys.
bool marks_rows(const ColumnSurvey& survey);

// Whether most words begin with a digit and are digits for the most part: rather numbers in a form
// that is not known.
bool are_nearly_numbers(const ColumnSurvey& survey);

std::string some_words(const ColumnSurvey& survey);

}  // namespace spire
