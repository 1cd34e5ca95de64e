// Parts of messages that depend on what they tell of: plurals, numbers, suggestions.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spire {

// "1 sample", "3 samples", "2 processes", "0 entries": the number and the noun in the form that
// goes with it. `noun` is an English noun with a regular plural, or several words that end in one.
std::string counted(int64_t count, std::string_view noun);

// The noun alone in that form, for a number that is written in another way.
std::string noun_form(int64_t count, std::string_view noun);

// The same number, but nan without a sign: printf and fmt write -nan for one whose sign bit is set,
// which depends on the processor and means nothing.
double unsigned_nan(double value);

// The candidate that a mistyped `word` probably stands for, empty when none is close. Close is: at
// most one letter in three of the longer word (but always one) was added, left out, exchanged or
// swapped with its neighbour; capitals count as small letters.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "; did you mean 'adam'?", the end of a message; empty when `candidate` is.
std::string did_you_mean(std::string_view candidate);

// Returns "'a', 'b' and 992 more": the first `max_shown` names, quoted, control characters as \x0a;
// "none" for an empty list.
std::string quoted_list(const std::vector<std::string>& names, size_t max_shown = 8);

}  // namespace spire
