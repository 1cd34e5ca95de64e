#include "models/transformer_size.h"

#include <span>
#include <vector>

#include <fmt/ranges.h>

#include <spire/error.h>

namespace spire::inline models {

TransformerSize transformer_size(const ModelConfig& config, std::string_view family) {
  std::span<const NamedSize> sizes = find_transformer_family(family)->sizes;
  std::vector<std::string_view> names;
  const TransformerSize* found = config.size == "auto" ? &sizes.front().size : nullptr;
  for (const NamedSize& each : sizes) {
    names.push_back(each.name);
    if (each.name == config.size) found = &each.size;
  }
  if (found == nullptr) {
    fail(Category::config, "model.size: {} is not a size of a {}; use {}", config.size, family,
         fmt::join(names, ", "));
  }
  TransformerSize size = *found;
  size.blocks = config.blocks.value_or(size.blocks);
  size.width = config.width.value_or(size.width);
  size.heads = config.heads.value_or(size.heads);
  if (size.width % size.heads != 0) {
    fail(Category::config, "model.heads: {} does not divide model.width {}; use a divisor of it",
         size.heads, size.width);
  }
  return size;
}

float epsilon_of(const ModelConfig& config, float own) {
  return config.epsilon > 0 ? static_cast<float>(config.epsilon) : own;
}

void expect_context(const ModelConfig& config, int64_t length) {
  int64_t context = config.context.value_or(length);
  if (length <= context) return;
  fail(Category::config,
       "model.context: {} is less than the {} tokens of the data's rows; use at least that",
       context, length);
}

}  // namespace spire::inline models
