#include <spire/device/device.h>

#include <charconv>

#include <spire/base/error.h>

namespace spire {

std::string to_string(DeviceId device) {
  return fmt::format("{}:{}", device.kind == DeviceKind::cuda ? "cuda" : "cpu", device.index);
}

DeviceId parse_device(std::string_view text) {
  auto colon = text.find(':');
  std::string_view kind = text.substr(0, colon);
  std::string_view digits = colon == text.npos ? "0" : text.substr(colon + 1);
  DeviceId device;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), device.index);
  bool number = error == std::errc() && end == digits.data() + digits.size() && device.index >= 0;
  if ((kind != "cpu" && kind != "cuda") || !number) {
    fail(Category::config, "'{}' is no device; write cpu:0, cuda:1, ...", text);
  }
  device.kind = kind == "cuda" ? DeviceKind::cuda : DeviceKind::cpu;
  return device;
}

}  // namespace spire
