#include "engine/process/rendezvous/peer_info.h"

#include <algorithm>
#include <sstream>

namespace spire::inline process {
namespace {

// A list in one word: its items joined by commas, "-" when there are none.
template <typename Item>
std::string to_word(const std::vector<Item>& items) {
  return items.empty() ? "-" : fmt::format("{}", fmt::join(items, ","));
}

template <typename Item>
std::vector<Item> from_word(const std::string& word) {
  std::vector<Item> items;
  std::istringstream list(word == "-" ? "" : word);
  for (std::string text; std::getline(list, text, ',');) {
    std::istringstream item(text);
    item >> items.emplace_back();
  }
  return items;
}

// These words reach messages, and so the terminal: none may hold a control character.
bool is_plain(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// A host may be called anything.
std::string plain_word(std::string name) {
  for (char& c : name) c = c > ' ' && c <= '~' ? c : '?';
  return name.empty() ? "-" : name;
}

}  // namespace

std::string to_text(const PeerInfo& hello) {
  const RankInfo& info = hello.info;
  return fmt::format("{} {} {} {} {} {} {} {}", info.rank, hello.size, info.pid, hello.port,
                     hello.run, plain_word(info.host), to_word(hello.addresses),
                     to_word(info.cores));
}

std::optional<PeerInfo> read_hello(const std::string& line) {
  PeerInfo hello;
  RankInfo& info = hello.info;
  std::string addresses, cores;
  std::istringstream words(line);
  words >> info.rank >> hello.size >> info.pid >> hello.port >> hello.run >> info.host >>
      addresses >> cores;
  if (!words || info.rank < 0 || info.rank >= hello.size || !is_plain(line)) return {};
  hello.addresses = from_word<std::string>(addresses);
  info.cores = from_word<int>(cores);
  return hello;
}

std::string to_text(const std::vector<PeerInfo>& table) {
  std::string text;
  for (const PeerInfo& hello : table) text += to_text(hello) + "\n";
  return text;
}

std::optional<std::vector<PeerInfo>> read_table(const std::string& text) {
  std::vector<PeerInfo> table;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    auto hello = read_hello(line);
    if (!hello || hello->info.rank != static_cast<int>(table.size())) return {};
    table.push_back(std::move(*hello));
  }
  return table;
}

}  // namespace spire::inline process
