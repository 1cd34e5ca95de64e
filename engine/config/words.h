// Maps the enums of run_config.h to words and back. Reading, checks, --help-config, echoes and
// messages take the words from here.
#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

#include <spire/run_config.h>

namespace spire::inline config {

template <typename... Words>
consteval auto spelled(Words... words) {
  return std::array<std::string_view, sizeof...(Words)>{words...};
}

// The words of an enum in the order of its enumerators; empty for a type without words.
template <typename Enum>
inline constexpr std::array<std::string_view, 0> all_words = {};

template <>
inline constexpr auto all_words<ModelConfig::Variant> = spelled("cifar", "imagenet");
template <>
inline constexpr auto all_words<ModelConfig::Shortcut> = spelled("projection", "identity");
template <>
inline constexpr auto all_words<ModelConfig::BatchNorm> = spelled("tower", "sync");
template <>
inline constexpr auto all_words<ModelConfig::Normalization> = spelled("none", "batch_norm");
template <>
inline constexpr auto all_words<ModelConfig::Upsample> = spelled("conv_transpose", "resize");
template <>
inline constexpr auto all_words<ModelConfig::OutputActivation> = spelled("linear", "sigmoid");
template <>
inline constexpr auto all_words<Cifar100Config::Labels> = spelled("fine", "coarse");
template <>
inline constexpr auto all_words<CsvConfig::Header> = spelled("auto", "true", "false");
template <>
inline constexpr auto all_words<CsvConfig::Separator> = spelled("auto", "comma", "semicolon",
                                                                "tab");
template <>
inline constexpr auto all_words<TargetKind> = spelled("auto", "class", "value");
template <>
inline constexpr auto all_words<SyntheticConfig::Kind> = spelled("images", "features", "tokens");
template <>
inline constexpr auto all_words<TokensConfig::Vocabulary> = spelled("auto", "bytes", "characters",
                                                                    "gpt2");
template <>
inline constexpr auto all_words<DataConfig::LastBatch> = spelled("weighted", "drop");
template <>
inline constexpr auto all_words<DataConfig::OnError> = spelled("stop", "skip");
template <>
inline constexpr auto all_words<DataConfig::Shuffle> = spelled("auto", "full", "chunk");
template <>
inline constexpr auto all_words<DataConfig::Normalize> = spelled("auto", "standard", "unit");
template <>
inline constexpr auto all_words<LossConfig::Name> = spelled("auto", "cross_entropy", "mse", "l1",
                                                            "l1_l2");
template <>
inline constexpr auto all_words<OptimizerConfig::Name> = spelled("sgd", "adam", "adamw", "lars",
                                                                 "lamb");
template <>
inline constexpr auto all_words<OptimizerConfig::Decay> = spelled("all", "matrices");
template <>
inline constexpr auto all_words<LrConfig::Scaling> = spelled("none", "linear", "sqrt");
template <>
inline constexpr auto all_words<ScheduleConfig::Name> = spelled("constant", "step", "multistep",
                                                                "cosine", "linear", "polynomial");
template <>
inline constexpr auto all_words<CheckpointConfig::Snapshot> = spelled("auto", "always", "never");
template <>
inline constexpr auto all_words<MemoryConfig::Recompute> = spelled("none", "blocks");
template <>
inline constexpr auto all_words<CudaConfig::Attention> = spelled("auto", "own");
template <>
inline constexpr auto all_words<CudaConfig::Peer> = spelled("auto", "direct", "nccl");
template <>
inline constexpr auto all_words<RunConfig::Pin> = spelled("auto", "true", "false");
template <>
inline constexpr auto all_words<RunConfig::Strategy> = spelled("parameter_device", "mirrored",
                                                               "sharded");
template <>
inline constexpr auto all_words<RunConfig::Reduction> = spelled("invariant", "native");
template <>
inline constexpr auto all_words<RunConfig::Precision> = spelled("fp32", "bf16", "fp16");

template <typename Enum>
concept HasWords = std::is_enum_v<Enum> && !all_words<Enum>.empty();

// Strategy::sharded -> "sharded"
template <HasWords Enum>
constexpr std::string_view word_of(Enum value) {
  return all_words<Enum>.at(static_cast<size_t>(value));
}

// "sharded" -> Strategy::sharded; nullopt for an unknown word.
template <HasWords Enum>
constexpr std::optional<Enum> find_word(std::string_view word) {
  auto found = std::ranges::find(all_words<Enum>, word);
  if (found == all_words<Enum>.end()) return std::nullopt;
  return static_cast<Enum>(found - all_words<Enum>.begin());
}

}  // namespace spire::inline config
