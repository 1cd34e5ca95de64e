#include "engine/weights/names/own_metadata.h"

#include <fmt/format.h>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/config/words.h"
#include "engine/weights/names/known_names.h"

namespace spire::inline weights {
namespace {

constexpr const char *names_key = "spire.names", *heads_key = "spire.heads",
                     *epsilon_key = "spire.epsilon";

}  // namespace

std::map<std::string, std::string> own_metadata(const NameTable& table, const Graph& graph) {
  std::map<std::string, std::string> metadata = {{names_key, std::string(word_of(table.names))}};
  TransformerFacts facts = transformer_facts(graph);
  if (facts.blocks == 0) return metadata;
  metadata[heads_key] = fmt::format("{}", facts.heads);
  metadata[epsilon_key] = fmt::format("{}", facts.epsilon);
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
  auto heads = metadata.find(heads_key), epsilon = metadata.find(epsilon_key);
  TransformerFacts facts = transformer_facts(graph);
  if (heads == metadata.end() || epsilon == metadata.end() || facts.blocks == 0) return false;
  auto expect = [&](const char* key, const std::string& theirs, const std::string& ours) {
    if (theirs != ours)
      fail(Category::checkpoint, "{}: its model has {} {}, but this model computes with {}; set {}",
           path, key, printable(theirs), ours, key);
  };
  expect("model.heads", heads->second, fmt::format("{}", facts.heads));
  expect("model.epsilon", epsilon->second, fmt::format("{}", facts.epsilon));
  return true;
}

std::vector<AttentionFact> other_attention(const Graph& first, const Graph& second) {
  TransformerFacts a = transformer_facts(first), b = transformer_facts(second);
  std::vector<AttentionFact> facts;
  if (a.blocks == 0 || b.blocks == 0) return facts;
  if (a.heads != b.heads)
    facts.push_back({"model.heads", fmt::format("{}", a.heads), fmt::format("{}", b.heads)});
  if (a.epsilon != b.epsilon)
    facts.push_back({"model.epsilon", fmt::format("{}", a.epsilon), fmt::format("{}", b.epsilon)});
  return facts;
}

}  // namespace spire::inline weights
