#include <fmt/format.h>
#include <spire/base/hash.h>
#include <spire/train/checkpoint_metadata.h>

#include <bit>

namespace spire {
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

}  // namespace

std::string metadata_checksum(const TrainingState& state) {
  std::string text;
  visit_metadata(state, [&](const char* key, const auto& value) {
    text += fmt::format("{}={}\n", key, canonical(value));
  });
  for (const auto& [library, version] : state.versions)
    text += fmt::format("version.{}={}\n", library, version);
  text += state.config_yaml;
  return hex(hash64(text.data(), text.size()));
}

std::string tensor_checksum(const NamedTensor& tensor) {
  return hex(hash64(tensor.values.data(), tensor.values.size() * sizeof(float)));
}

}  // namespace spire
