// Cuts a text that arrives token by token into parts that can be shown at once.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace spire {

// Parts end between UTF-8 characters (bytes that are no UTF-8 are passed on as they are), and hold
// nothing that may become a stop word, at the first of which the text ends. The parts together are
// the text before it.
class TextStream {
 public:
  // Throws Error(config) for an empty stop word.
  explicit TextStream(std::vector<std::string> stop_words);

  std::string add(std::string_view bytes);   // returns what can be shown now; "" once stopped()
  std::string finish();                      // returns the rest, when no more bytes will come
  bool stopped() const { return stopped_; }  // whether a stop word has ended the text

 private:
  std::string take(size_t bytes);  // cuts that many off the held text

  std::vector<std::string> stop_words_;
  std::string held_;  // not shown yet
  bool stopped_ = false;
};

}  // namespace spire
