// What the script of a page draws, as Node.js finds it, and the data that the page holds.
#pragma once
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/observe/reports.h"

namespace spire {

inline bool has_node() {
  return std::system("node --version >/dev/null 2>&1") == 0;
}

inline nlohmann::json data_of(const std::string& page) {
  size_t script = page.find("id=\"data\""), begin = page.find('>', script) + 1;
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

// Returns what draw_page.mjs prints: figures, elements, texts. state: what the live page gets.
inline nlohmann::json drawn(const std::string& page, const std::string& state = "null") {
  Folder folder;
  std::ofstream(folder / "page.html", std::ios::binary) << page;
  std::ofstream(folder / "state.json", std::ios::binary) << state;
  std::string command = "node " SPIRE_ROOT "/tests/observe/page/draw_page.mjs " +
                        (folder / "page.html").string() + " " + (folder / "state.json").string();
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> bytes{};
  while (size_t count = fread(bytes.data(), 1, bytes.size(), pipe))
    text.append(bytes.data(), count);
  EXPECT_EQ(pclose(pipe), 0);
  return nlohmann::json::parse(text, nullptr, false);
}

#define SPIRE_SKIP_WITHOUT_NODE() \
  if (!has_node()) GTEST_SKIP() << "no Node.js here to run the script of a page"

}  // namespace spire
