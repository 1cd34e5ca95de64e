// Words of messages: plurals, numbers, suggestions for typos.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spire {

// Returns "1 sample", "3 samples", "2 processes" or "0 entries". noun: a singular with a regular
// plural, or several words that end in one.
std::string counted(int64_t count, std::string_view noun);

// Returns the noun alone, for numbers that are formatted otherwise.
std::string noun_form(int64_t count, std::string_view noun);

// Returns `value`, but NaN without a sign: printf and fmt print -nan if the sign bit is set, which
// depends on the processor.
double unsigned_nan(double value);

// Returns the candidate nearest to a mistyped `word`, or "". Near is an edit distance of at most a
// third of the longer word (at least 1), with swapped letters as one edit and case ignored.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// Returns "; did you mean 'adam'?" for the end of a message; "" for an empty candidate.
std::string did_you_mean(std::string_view candidate);

// Returns "'a', 'b' and 992 more": the first `max_shown` names, quoted, control characters as \x0a;
// "none" for an empty list.
std::string quoted_list(const std::vector<std::string>& names, size_t max_shown = 8);

}  // namespace spire
