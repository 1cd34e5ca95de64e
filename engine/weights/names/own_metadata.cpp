#include "engine/weights/names/own_metadata.h"

#include <fmt/format.h>

#include <spire/error.h>

#include "engine/base/text.h"
#include "engine/config/words.h"
#include "engine/weights/names/known_names.h"

namespace spire {
namespace {

constexpr const char* names_key = "spire.names";

// What a transformer computes that no tensor shows.
struct NamedFact {
  std::string key;    // of the metadata: "spire.heads"
  std::string field;  // of the config: "model.heads"
  std::string value;
  std::string without;  // the value that metadata without the key means; empty: none
};
std::vector<NamedFact> named_facts(const TransformerFacts& facts) {
  std::vector<NamedFact> named;
  auto add = [&](const std::string& name, auto value, const std::string& without = "") {
    named.push_back({"spire." + name, "model." + name, fmt::format("{}", value), without});
  };
  if (facts.blocks == 0) return named;
  add("heads", facts.heads);
  add("kv_heads", facts.kv_heads, fmt::format("{}", facts.heads));
  add("epsilon", facts.epsilon);
  add("rope_theta", facts.rope_theta, "0");
  return named;
}

}  // namespace

std::map<std::string, std::string> own_metadata(const NameTable& table, const Graph& graph) {
  std::map<std::string, std::string> metadata = {{names_key, std::string(word_of(table.names))}};
  for (const NamedFact& fact : named_facts(transformer_facts(graph)))
    if (fact.value != fact.without) metadata[fact.key] = fact.value;
  return metadata;
}

std::optional<WeightNames> written_names(const std::map<std::string, std::string>& metadata) {
  auto found = metadata.find(names_key);
  if (found == metadata.end()) return std::nullopt;
  auto names = find_word<WeightNames>(found->second);
  return names == WeightNames::automatic ? std::nullopt : names;
}

bool check_metadata(const std::map<std::string, std::string>& metadata, const std::string& path,
                    const Graph& graph) {
  std::vector<NamedFact> facts = named_facts(transformer_facts(graph));
  for (const NamedFact& fact : facts)
    if (fact.without.empty() && !metadata.contains(fact.key)) return false;
  // Heads are compared first, so that kv_heads that are left out are as many as theirs.
  for (const auto& [key, field, ours, without] : facts) {
    auto found = metadata.find(key);
    const std::string& theirs = found == metadata.end() ? without : found->second;
    if (theirs != ours)
      fail(Category::checkpoint, "{}: its model has {} {}, but this model computes with {}; set {}",
           path, field, printable(theirs), ours, field);
  }
  return !facts.empty();
}

std::vector<AttentionFact> other_attention(const Graph& first, const Graph& second) {
  std::vector<NamedFact> a = named_facts(transformer_facts(first));
  std::vector<NamedFact> b = named_facts(transformer_facts(second));
  std::vector<AttentionFact> facts;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i].value != b[i].value) facts.push_back({a[i].field, a[i].value, b[i].value});
  return facts;
}

}  // namespace spire
