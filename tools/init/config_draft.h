// A config as text: keys in an order for readers, each with the reason for its value.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace spire {

class ConfigDraft {
 public:
  void note(std::string text);  // a comment of its own at the head
  // path: "optimizer.lr"; keys of a section follow each other. value: YAML. why: may be empty.
  void set(std::string path, std::string value, std::string why = {});
  const std::string& value_of(std::string_view path) const;  // REQUIRES: it was set
  std::string text() const;

 private:
  struct DraftLine {
    std::string path, value, why;
  };
  std::vector<std::string> notes_;
  std::vector<DraftLine> lines_;
};

}  // namespace spire
