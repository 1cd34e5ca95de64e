// A vocabulary as a checkpoint holds it; the two files of a GPT-2 vocabulary, separated by a zero
// byte; and a tokenizer.json, which begins with {.
#include "engine/data/text/vocabulary.h"

#include <algorithm>

#include <stdlib.h>

#include "engine/base/fail.h"
#include "tests/data/text/bpe_files.h"
#include "tests/fuzz/fuzz_target.h"

namespace spire::fuzz {
namespace {

// What was accepted encodes and decodes its own tokens.
void check(const Vocabulary& vocabulary) {
  std::vector<int32_t> ids;
  for (int64_t id = 0; id < std::min<int64_t>(vocabulary.size(), 300); ++id)
    ids.push_back(static_cast<int32_t>(id));
  std::string text = vocabulary.decode(ids);
  int encoded = parse_or_refuse(Category::data, [&] {
    require(vocabulary.decode(vocabulary.encode(text)) == text, "a text does not come back");
  });
  require(encoded == accepted || vocabulary.name() == "gpt2", "its own characters are refused");
}

int read_text_form(const std::string& text) {
  if (text.starts_with("gpt2:")) return refused;  // the input names no folders
  return parse_or_refuse(Category::data, [&] { check(*make_vocabulary(text)); });
}

int read_files(const std::string& tokens, const std::string& merges) {
  Folder folder;
  write_text(folder / "encoder.json", tokens);
  write_text(folder / "vocab.bpe", merges);
  return parse_or_refuse(Category::data, [&] { check(*read_bpe(folder.path())); });
}

int read_tokenizer(const std::string& tokenizer) {
  Folder folder;
  write_text(folder / "tokenizer.json", tokenizer);
  return parse_or_refuse(Category::data, [&] { check(*read_bpe(folder.path())); });
}

}  // namespace

int consume(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  size_t zero = text.find('\0');
  if (zero == text.npos) return text.starts_with('{') ? read_tokenizer(text) : read_text_form(text);
  return read_files(text.substr(0, zero), text.substr(zero + 1));
}

std::vector<Bytes> seeds() {
  std::string bpe = vocabulary_json({"ab", "abc",
                                     "\xc4\xa0"
                                     "ab",
                                     "<|endoftext|>"});
  bpe += '\0';
  bpe += "#version: 0.2\na b\nab c\n\xc4\xa0 ab\n";
  std::string level = R"({"type":"ByteLevel","add_prefix_space":false})";
  std::string tokenizer = R"({"added_tokens":[{"id":258,"content":"<x>","lstrip":false}],)"
                          R"("normalizer":null,"pre_tokenizer":)" +
                          level + R"(,"decoder":)" + level +
                          R"(,"model":{"type":"BPE","byte_fallback":false,"vocab":)" +
                          vocabulary_json({"ab", "abc"}) + R"(,"merges":["a b",["ab","c"]]}})";
  return {bytes_of("bytes"), bytes_of("characters:\"\\n !ab\xc3\xa9\""), bytes_of(bpe),
          bytes_of(tokenizer)};
}

}  // namespace spire::fuzz
