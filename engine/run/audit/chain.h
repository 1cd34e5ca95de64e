// The chain of a run's steps: each line of audit.jsonl ends with the digest of the value before it
// and of its own text, so that no line can be changed, added or dropped unseen.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/digest.h"

namespace spire {

// Where a chain stands. Checkpoints have it as text.
struct ChainState {
  std::string value = {};  // of the newest line, 64 hex digits; empty: nothing is chained
  std::string root = {};   // digest of the newest root: audit_root.h

  std::string text() const;                                         // "" of an empty chain
  static std::optional<ChainState> parse(const std::string& text);  // none: not of this form
};

// Returns the value behind `text`, a JSON object on one line.
inline std::string next_value(std::string_view before, std::string_view text) {
  return digest({before, "\n", text});
}

// Turns the object in `line` into its line of audit.jsonl, with a newline, and moves the value on.
void chain_line(std::string& line, std::string& value);

// The parts of a line, without its newline; none if it has no value at its end.
struct ChainedLine {
  std::string text, value;
};
std::optional<ChainedLine> split_chained(std::string_view line);

}  // namespace spire
