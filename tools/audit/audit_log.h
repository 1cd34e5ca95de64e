// Reads audit.jsonl back and checks its chain, line by line.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/run/audit/audit_record.h"

namespace spire {

// A root of the chain: what determines the steps after it. A run has one at its beginning, and one
// more for each time that it was resumed with another config, other data or other libraries.
struct RecordedRoot {
  std::string text;               // root_text()
  std::vector<uint64_t> weights;  // ParameterLayout::hashes() at its step
  std::string value;              // the chain's value after the root
  std::string spec = {};          // digest of what checkpoints say of the data; empty: not recorded
  int64_t weights_every = 0;      // steps between two hashes of the weights; 0: not recorded
};

// The string of that name in an object; empty where there is none.
std::string text_in(const nlohmann::ordered_json& object, const char* key);

std::string device_of(const RecordedRoot& root);  // "cpu" or "cuda"
std::string data_of(const RecordedRoot& root);    // digest; empty: not recorded
// Returns the config keys that decided the bits, with their values.
std::map<std::string, std::string> config_of(const RecordedRoot& root);

struct AuditLog {
  int64_t first = 0, last = 0;            // steps done before the first record and after the last
  std::map<int64_t, RecordedRoot> roots;  // by the number of steps done before the root
  std::map<int64_t, AuditRecord> records;
  std::map<int64_t, std::string> values;  // by step: the chain's value after it, before a new root
  std::vector<std::string> problems;      // "step 5: ..." for each line that is not as written

  // Returns the root that determines step + 1; null if there is none.
  const RecordedRoot* root_after(int64_t step) const;
  // Returns the number of steps done when that root ends: at the next root, or at the log's end.
  int64_t end_of_root(int64_t step) const;
};

// A torn last line, as of a run that was killed, is left out. Throws Error(config) if there is no
// such file.
AuditLog read_audit_log(const std::filesystem::path& path);

}  // namespace spire
