// GPT-2 vocabularies in files: made by hand, for tests.
#pragma once
#include <nlohmann/json.hpp>

#include "tests/data/test_files.h"

namespace spire {

// The characters that stand for the bytes 0 to 255 in the files, written out.
inline std::vector<std::string> byte_characters() {
  std::vector<std::string> characters;
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    bool itself = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
    int code = itself ? byte : next++;
    std::string text;
    if (code < 0x80) {
      text = static_cast<char>(code);
    } else {
      text = {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
    }
    characters.push_back(text);
  }
  return characters;
}

// Ids 0 to 255 are the bytes; then the merged tokens in the order of `merges`, then `others`.
inline std::string vocabulary_json(const std::vector<std::string>& others = {}) {
  nlohmann::json object;
  for (const std::string& character : byte_characters()) object[character] = object.size();
  for (const std::string& token : others)
    if (!object.contains(token)) object[token] = object.size();
  return object.dump();
}

inline void write_bpe(const std::filesystem::path& folder, const std::string& merges,
                      const std::vector<std::string>& tokens) {
  std::filesystem::create_directories(folder);
  write_text(folder / "encoder.json", vocabulary_json(tokens));
  write_text(folder / "vocab.bpe", merges);
}

}  // namespace spire
