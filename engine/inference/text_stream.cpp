#include "engine/inference/text_stream.h"

#include <algorithm>

#include <spire/error.h>

namespace spire {
namespace {

// Returns the length of the longest end of `text` that begins `word`, but is not all of it.
size_t begun(std::string_view text, std::string_view word) {
  for (size_t length = std::min(text.size(), word.size() - 1); length > 0; --length)
    if (text.ends_with(word.substr(0, length))) return length;
  return 0;
}

// Returns the number of bytes of the character at the end of `text` that lacks others (RFC 3629).
size_t unfinished_character(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;  // a later byte of a character
    size_t needed = byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
    return byte <= 0xf4 && needed > back ? back : 0;
  }
  return 0;
}

}  // namespace

TextStream::TextStream(std::vector<std::string> stop_words) : stop_words_(std::move(stop_words)) {
  for (const std::string& word : stop_words_)
    if (word.empty())
      fail(Category::config, "a stop word is empty; give the text at which to end, by --stop TEXT");
}

std::string TextStream::take(size_t bytes) {
  std::string taken = held_.substr(0, bytes);
  held_.erase(0, bytes);
  return taken;
}

std::string TextStream::add(std::string_view bytes) {
  if (stopped_) return "";
  held_ += bytes;
  size_t end = std::string::npos;
  for (const std::string& word : stop_words_) end = std::min(end, held_.find(word));
  if (end != std::string::npos) {
    stopped_ = true;
    std::string last = take(end);
    held_.clear();
    return last;
  }
  size_t kept = unfinished_character(held_);
  for (const std::string& word : stop_words_) kept = std::max(kept, begun(held_, word));
  // What may begin a stop word may follow a character that is not complete.
  std::string_view shown = std::string_view(held_).substr(0, held_.size() - kept);
  return take(shown.size() - unfinished_character(shown));
}

std::string TextStream::finish() {
  return take(held_.size());
}

}  // namespace spire
