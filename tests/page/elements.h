// Reads a page back: all tags closed, texts escaped.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace spire {

// Walks over a page whose tags must all be closed, in order, and counts elements by name. Fails for
// '<' in a text, for attributes without quotes, and for entities that HTML and XML do not share.
inline std::map<std::string, int> elements_of(const std::string& page) {
  std::map<std::string, int> counts;
  std::vector<std::string> open;
  size_t at = page.find('\n');  // behind the doctype
  EXPECT_EQ(page.substr(0, at), "<!DOCTYPE html>");
  while ((at = page.find('<', at)) != page.npos) {
    size_t end = page.find('>', at);
    std::string tag = page.substr(at + 1, end - at - 1);
    at = end;
    std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    EXPECT_EQ(std::ranges::count(tag, '"') % 2, 0) << tag;
    EXPECT_EQ(tag.find('<'), tag.npos) << tag;
    if (tag[0] == '/') {
      if (open.empty() || "/" + open.back() != tag) return {{"wrong tag " + tag, 1}};
      open.pop_back();
      continue;
    }
    ++counts[name];
    if (tag.back() != '/') open.push_back(name);
  }
  EXPECT_TRUE(open.empty());
  return counts;
}

}  // namespace spire
