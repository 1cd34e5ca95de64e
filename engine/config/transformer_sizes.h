// Table of the published sizes of transformers, which model.size names.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace spire {

struct TransformerSize {
  int64_t blocks = 12, width = 768, heads = 12;
  int64_t kv_heads = 0;       // heads of keys and values; 0: as many as heads
  int64_t mlp_width = 0;      // of the hidden layer; 0: by the model's own ratio
  double rope_theta = 10000;  // base of rotary positions, in models that have them

  int64_t head_size() const { return width / heads; }
};

struct NamedSize {
  std::string_view name;
  TransformerSize size;
};

inline constexpr std::array gpt_sizes = {
    NamedSize{"gpt2", {12, 768, 12}}, NamedSize{"gpt2_medium", {24, 1024, 16}},
    NamedSize{"gpt2_large", {36, 1280, 20}}, NamedSize{"gpt2_xl", {48, 1600, 25}}};

inline constexpr std::array vit_sizes = {NamedSize{"tiny", {12, 192, 3}},
                                         NamedSize{"small", {12, 384, 6}},
                                         NamedSize{"base", {12, 768, 12}}};

// llama_135m is SmolLM-135M, 1b, 3b and 8b are Llama 3's.
inline constexpr std::array llama_sizes = {NamedSize{"llama_tiny", {6, 288, 6, 2, 768}},
                                           NamedSize{"llama_135m", {30, 576, 9, 3, 1536}},
                                           NamedSize{"llama_1b", {16, 2048, 32, 8, 8192, 500000}},
                                           NamedSize{"llama_3b", {28, 3072, 24, 8, 8192, 500000}},
                                           NamedSize{"llama_8b", {32, 4096, 32, 8, 14336, 500000}}};

struct TransformerFamily {
  std::string_view model, title;     // value of model.name, and name in messages
  std::span<const NamedSize> sizes;  // the first is that of "auto"
};

inline constexpr std::array transformer_families = {
    TransformerFamily{"gpt", "GPT", gpt_sizes}, TransformerFamily{"vit", "ViT", vit_sizes},
    TransformerFamily{"llama", "Llama", llama_sizes}};

// Returns the family of this model; null if it is no transformer with sizes.
constexpr const TransformerFamily* find_transformer_family(std::string_view model) {
  auto found = std::ranges::find(transformer_families, model, &TransformerFamily::model);
  return found == transformer_families.end() ? nullptr : &*found;
}

}  // namespace spire
