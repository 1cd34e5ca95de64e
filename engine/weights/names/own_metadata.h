// What Spire's safetensors say of themselves in __metadata__: whose names they have, and what their
// model computes that no tensor shows.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/weights/names/name_table.h"

namespace spire {

// {"spire.names": "pytorch"}, and for models with attention "spire.heads" and "spire.epsilon" (of
// the norms), "spire.kv_heads" where these are fewer, "spire.rope_theta" where positions are
// rotary. graph: as in name_table().
std::map<std::string, std::string> own_metadata(const NameTable& table, const Graph& graph);

// The names of a file with this metadata; nothing for files of others.
std::optional<WeightNames> written_names(const std::map<std::string, std::string>& metadata);

// Compares all but the names with the model's and returns true; false if the metadata does not have
// them. Throws Error(checkpoint) for a difference. path: for messages.
bool check_metadata(const std::map<std::string, std::string>& metadata, const std::string& path,
                    const Graph& graph);

// What of these two models compute otherwise, as text.
struct AttentionFact {
  std::string key, first, second;  // "model.heads", "2", "8"
};
std::vector<AttentionFact> other_attention(const Graph& first, const Graph& second);

}  // namespace spire
