// Words for messages: plurals, numbers, suggestions for typos.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spire {

// noun: a singular with a regular plural; of several words the last is inflected ("test image").
std::string counted(int64_t count, std::string_view noun);    // "1 sample", "2 processes"
std::string noun_form(int64_t count, std::string_view noun);  // "sample", "processes"

double unsigned_nan(double value);  // -NaN becomes NaN, so that "nan" is printed everywhere

// Returns the candidate nearest to a mistyped `word`; "" if none is near. Near means an edit
// distance of at most 1 or a third of the longer word; a swap is one edit; case is ignored.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// Returns "; did you mean 'adam'?"; "" for an empty candidate.
std::string did_you_mean(std::string_view candidate);

// Returns the text with control characters as \x0a, which would break a message's line or steer a
// terminal. UTF-8 is kept, but its control characters U+0080 to U+009F.
std::string printable(std::string_view text);

// Returns "'a', 'b' and 992 more", with control characters as \x0a; "none" for an empty list.
std::string quoted_list(const std::vector<std::string>& names, size_t max_shown = 8);

}  // namespace spire
