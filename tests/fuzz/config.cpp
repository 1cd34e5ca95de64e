// Configs: the bytes are a YAML file; behind a zero byte, if there is one, a "key.path=value".
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/config/text.h"
#include "tests/fuzz/fuzz_target.h"

namespace spire::fuzz {

namespace {

using namespace std::string_view_literals;

// What is accepted can be written and read back as the same.
void check_round_trip(const RunConfig& config) {
  std::string text = to_yaml(config);
  std::string again = to_yaml(parse_config({{"again.yaml", text}}, {}).config);
  require(again == text, "a config reads back as another:\n{}\n{}", text, again);
}

}  // namespace

int consume(const uint8_t* data, size_t size) {
  std::string text(data, data + size);
  std::vector<std::string> overrides;
  if (size_t zero = text.find('\0'); zero != text.npos) {
    overrides.push_back(text.substr(zero + 1));
    text.resize(zero);
  }
  ResolvedConfig resolved;
  int verdict = parse_or_refuse(Category::config, [&] {
    resolved = parse_config({{"fuzz.yaml", text}}, overrides);
  });
  if (verdict == accepted) {
    try {
      check_round_trip(resolved.config);
    } catch (const Error& error) {
      fail(Category::unexpected, "{}", error.what());
    }
  }
  return verdict;
}

// The shipped configs, the defaults, and what the files do not show.
std::vector<Bytes> seeds() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(CONFIGS_FOLDER))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Bytes> seeds = {bytes_of(""), bytes_of(to_yaml(RunConfig())),
                              bytes_of("devices: [cpu:2]\n# nothing\ntowers: ~\n"),
                              bytes_of("batch_size: 8\0optimizer.lr=1e-3"sv)};
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

}  // namespace spire::fuzz
