// What audit.jsonl records of one step, as a line of JSON and back: the same text for the same
// bits. Each line ends with the digest of the value before it and of its own text, a chain in which
// no line can be changed, added or dropped unseen. docs/audit.md describes the fields.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/hash.h"
#include "engine/data/loader.h"
#include "engine/train/tower_trainer.h"

namespace spire {

struct AuditRecord {
  int64_t step = 0;                    // optimizer steps done: 1 after the first
  uint64_t samples = 0;                // samples_hash() of its batch
  double lr = 0;                       // after schedule and warm-up
  double loss = 0, grad_norm = 0;      // as StepOutcome
  bool left_out = false;               // the guard kept it from the weights, or undid it
  std::vector<double> towers = {};     // each tower's sum of losses
  std::vector<uint64_t> weights = {};  // ParameterLayout::hashes() after it; empty: not computed
};

// Sets all members except `weights`.
void set_step(AuditRecord& record, const StepOutcome& step, uint64_t samples, bool left_out);
// weights: TowerTrainer::tensor_hashes() after the step, or none.
AuditRecord audit_record(const StepOutcome& step, uint64_t samples, bool left_out,
                         std::vector<uint64_t> weights);

// Returns the hash64 of the indices of the samples of the global batch, in the order of its rows.
uint64_t samples_hash(const BatchLoader& data, const Batch& batch);

// Appends {"step":12,...} without a newline. A number is the shortest decimal that reads back as
// the same bits; one that is not finite is a word: "nan", "inf", "-inf".
void append_text(const AuditRecord& record, std::string& text);
// Returns none for text of another form.
std::optional<AuditRecord> parse_audit_record(std::string_view text);

std::string hashes_text(const std::vector<uint64_t>& hashes);  // 16 hex digits each, joined
std::optional<std::vector<uint64_t>> parse_hashes(std::string_view text);

// The end of a chain so far. Checkpoints contain it as text.
struct ChainState {
  std::string value = {};  // of the newest line, 64 hex digits; empty: nothing is chained
  std::string root = {};   // digest of the newest root: audit_root.h

  std::string text() const;                                         // "" of an empty chain
  static std::optional<ChainState> parse(const std::string& text);  // none: not of this form
};

// Returns the chain's value after a line whose JSON object is `text`. before: the value before it.
inline std::string next_value(std::string_view before, std::string_view text) {
  return digest({before, "\n", text});
}

// Turns the JSON object in `line` into a line of audit.jsonl: adds the chain's new value and a
// newline. value: the chain's value before the line, and then after it.
void chain_line(std::string& line, std::string& value);

// The parts of a line, without its newline; none if it has no value at its end.
struct ChainedLine {
  std::string text, value;
};
std::optional<ChainedLine> split_chained(std::string_view line);

}  // namespace spire
