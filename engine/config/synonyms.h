// Table of words of Keras, PyTorch and other programs, with Spire's words for the same: messages
// about an unknown word name Spire's.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace spire {

// What a word is used as: a type of layer, a key of one, a key of the config, or the value of such
// a key.
enum class SynonymGroup { layers, layer_keys, keys, values };

struct Synonym {
  SynonymGroup group;
  std::string_view theirs, ours;  // "learning_rate", "optimizer.lr"
};
const std::vector<Synonym>& synonyms();

// Returns Spire's word for another program's: the first of the table that is in `known`, else "".
// Letters' case, underscores and dashes make no difference: KernelSize is kernel_size.
std::string our_word(SynonymGroup group, std::string_view theirs,
                     const std::vector<std::string>& known);

// Returns our_word(), else the nearest of `known` to a mistyped word, else "".
std::string meant_word(SynonymGroup group, std::string_view word,
                       const std::vector<std::string>& known);

}  // namespace spire
