#include <spire/base/error.h>
#include <spire/config/devices.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace spire {

namespace {

constexpr int kMostDevices = 1024;

// The N of "cpu:N"; nothing when `text` is not `kind`, a colon and a small whole number.
std::optional<int> index_of(std::string_view text, std::string_view kind) {
  if (!text.starts_with(kind) || text.size() <= kind.size() + 1 || text[kind.size()] != ':')
    return {};
  std::string_view digits = text.substr(kind.size() + 1);
  int index = -1;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole && index >= 0 && index <= kMostDevices ? std::optional(index) : std::nullopt;
}

bool is_single(std::string_view text) {
  return index_of(text, "cpu") || index_of(text, "cuda");
}

std::vector<std::string> cpu_devices(int count) {
  std::vector<std::string> devices;
  for (int i = 0; i < count; ++i) devices.push_back(fmt::format("cpu:{}", i));
  return devices;
}

std::vector<std::string> expand_one(const std::string& word) {
  if (word == "auto" || word == "cuda") return {word};
  if (word == "cpu") return cpu_devices(1);
  if (auto count = index_of(word, "cpu")) return cpu_devices(std::max(1, *count));
  if (is_single(word)) return {word};
  std::string near = nearest(word, {"auto", "cpu", "cuda"});
  fail(Category::config, "'{}' names no device; write auto, cpu, cpu:N, cuda, cuda:N or a list{}",
       word, near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
}

}  // namespace

std::vector<std::string> expand_devices(const std::vector<std::string>& devices) {
  if (devices.empty())
    fail(Category::config, "the list of devices is empty; write auto for a choice");
  if (devices.size() == 1) return expand_one(devices.front());
  for (size_t i = 0; i < devices.size(); ++i) {
    if (!is_single(devices[i])) {
      fail(Category::config, "'{}' cannot stand in a list; name single devices: [cuda:0, cuda:1]",
           devices[i]);
    }
    auto earlier = devices.begin() + static_cast<std::ptrdiff_t>(i);
    // A GPU may carry several devices of a run: that is how one GPU tries what several do.
    if (std::find(devices.begin(), earlier, devices[i]) != earlier && index_of(devices[i], "cpu")) {
      fail(Category::config, "{} is named twice", devices[i]);
    }
  }
  return devices;
}

void check_parameter_device(const std::string& device) {
  if (device == "auto" || device == "cpu" || is_single(device)) return;
  fail(Category::config, "'{}' names no single device; write auto, cpu, cpu:N or cuda:N", device);
}

}  // namespace spire
