// GPT-2's byte-pair encoding (Radford et al. 2019): a text is parted into pieces (pretokenizer.h),
// each piece into bytes, and neighbouring tokens are merged in the order in which the merges were
// learnt.
#pragma once
#include <filesystem>

#include "engine/data/text/vocabulary.h"

namespace spire::inline data {

// Reads, from that folder, encoder.json or vocab.json: {"token": id, ...}, ids 0 to n - 1, among
// them all 256 bytes; and vocab.bpe or merges.txt: "left right" a line, first merges first. Bytes
// are written as GPT-2 does: printable ones as themselves, the others as U+0100 and following.
// The token <|endoftext|>, if there is one, stands for that text wherever it occurs.
// encode() needs UTF-8. Throws Error(data) naming file, and line or token.
std::unique_ptr<Vocabulary> read_bpe(const std::filesystem::path& folder);

inline constexpr std::string_view end_of_text = "<|endoftext|>";

}  // namespace spire::inline data
