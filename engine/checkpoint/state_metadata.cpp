#include "engine/checkpoint/state_metadata.h"

#include <bit>

#include <fmt/format.h>

#include <spire/error.h>

#include "engine/base/hash.h"

namespace spire::inline checkpoint {
namespace {

std::string canonical(int64_t value) {
  return fmt::format("{}", value);
}
std::string canonical(uint64_t value) {
  return fmt::format("{}", value);
}
std::string canonical(double value) {
  return hex(std::bit_cast<uint64_t>(value));
}
const std::string& canonical(const std::string& value) {
  return value;
}

void parse(const std::string& text, int64_t& value) {
  value = std::stoll(text);
}
void parse(const std::string& text, uint64_t& value) {
  value = std::stoull(text);
}
void parse(const std::string& text, double& value) {
  value = std::bit_cast<double>(uint64_t{std::stoull(text, nullptr, 16)});
}
void parse(const std::string& text, std::string& value) {
  value = text;
}

std::string lines_of(const StateMetadata& state) {
  std::string text;
  visit_metadata(state, [&](const char* key, const auto& value) {
    text += fmt::format("{}={}\n", key, canonical(value));
  });
  return text;
}

}  // namespace

std::string metadata_text(const StateMetadata& state) {
  return lines_of(state) + state.config_yaml;
}

void read_metadata_text(const std::string& text, StateMetadata& state) {
  size_t at = 0;
  visit_metadata(state, [&](const char* key, auto& value) {
    std::string start = std::string(key) + "=";
    size_t end = text.find('\n', at);
    require(end != std::string::npos && text.compare(at, start.size(), start) == 0,
            "metadata without '{}'", key);
    parse(text.substr(at + start.size(), end - at - start.size()), value);
    at = end + 1;
  });
  state.config_yaml = text.substr(at);
}

std::string metadata_checksum(const StateMetadata& state) {
  std::string text = lines_of(state);
  for (const auto& [library, version] : state.versions)
    text += fmt::format("version.{}={}\n", library, version);
  text += state.data_spec;
  text += state.config_yaml;
  text += state.tuning;
  return hex(hash64(text.data(), text.size()));
}

}  // namespace spire::inline checkpoint
