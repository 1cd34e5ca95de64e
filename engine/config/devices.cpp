#include "engine/config/devices.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/scalar.h"

namespace spire {

namespace {

// An x behind a number counts the first devices of a kind; a number behind a colon names one.
constexpr int max_devices = 1024;
constexpr std::string_view device_forms =
    "write auto, auto:N (N idle GPUs), cpu, cuda, a number of devices (2xcpu, 4xcuda), a name "
    "(cuda:1, a GPU's UUID or PCI bus id) or a list of names ([cuda:0, cuda:1], [0, 1])";

// Parses a whole number up to max_devices; from_chars() accepts a minus, so that is ruled out.
std::optional<int> small_number(std::string_view digits) {
  int number = -1;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole && number >= 0 && number <= max_devices ? std::optional(number) : std::nullopt;
}

// Returns the N of "cpu:N"; nullopt when `text` is not `kind`, a colon and a small whole number.
std::optional<int> index_of(std::string_view text, std::string_view kind) {
  if (!text.starts_with(kind)) return {};
  text.remove_prefix(kind.size());
  return text.starts_with(':') ? small_number(text.substr(1)) : std::nullopt;
}

// Returns the N of "Nxcpu", at least 1.
std::optional<int> count_of(std::string_view text, std::string_view kind) {
  if (!text.ends_with(kind)) return {};
  text.remove_suffix(kind.size());
  if (!text.ends_with('x')) return {};
  auto count = small_number(text.substr(0, text.size() - 1));
  return count && *count > 0 ? count : std::nullopt;
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c); });
}

bool is_single(std::string_view text) {
  return index_of(text, "cpu") || names_gpu(text);
}

// In a list, a number is a GPU's.
std::string name_in_list(const std::string& word) {
  auto number = small_number(word);
  return number ? fmt::format("cuda:{}", *number) : word;
}

std::vector<std::string> cpu_devices(int count) {
  std::vector<std::string> devices;
  for (int i = 0; i < count; ++i) devices.push_back(fmt::format("cpu:{}", i));
  return devices;
}

// Suggests a device for a mistyped word. "gpu" differs from cpu in one letter, but means cuda.
std::string meant_device(std::string word) {
  if (size_t gpu = word.find("gpu"); gpu != word.npos) {
    word.replace(gpu, 3, "cuda");
    return word == "cuda" || is_single(word) || count_of(word, "cuda") ? word : "";
  }
  return nearest(word, {"auto", "all", "cpu", "cuda"});
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// In a list, a number is a GPU's.
bool names_device(std::string_view word) {
  return names_gpu(word) || is_digits(word) ||
         (word.starts_with("cpu:") && is_digits(word.substr(4)));
}

// True for text that can only be meant as a limit: a number with a unit of bytes.
bool looks_like_limit(std::string_view text) {
  return text.ends_with('B') && text.front() >= '0' && text.front() <= '9';
}

// Expands a word that stands alone. The old form cpu:N, which counts, is read for compatibility:
// cpu:0 and cpu:1 are one device.
std::vector<std::string> expand_one(const std::string& word) {
  if (LimitedDevice device = split_limit(word); !device.limit.empty())
    return {to_word({name_in_list(device.name), device.limit})};
  if (word == "auto") return {word};
  if (word == "all") return {"cuda"};
  if (gpu_group(word)) return {word};
  if (word == "cpu") return cpu_devices(1);
  if (auto count = count_of(word, "cpu")) return cpu_devices(*count);
  if (auto count = index_of(word, "cpu")) return cpu_devices(std::max(1, *count));
  if (is_single(word)) return {word};
  if (auto number = small_number(word)) {
    fail(Category::config,
         "'{0}' may be a number of GPUs or a GPU's number; write {0}xcuda or cuda:{0}", *number);
  }
  fail(Category::config, "'{}' is not a device; {}{}", excerpt(word), device_forms,
       did_you_mean(meant_device(word)));
}

}  // namespace

std::vector<std::string> expand_devices(const std::vector<std::string>& devices) {
  if (devices.empty()) fail(Category::config, "the list of devices is empty; {}", device_forms);
  if (devices.size() == 1) return expand_one(devices.front());
  std::vector<std::string> names;
  for (const std::string& word : devices) {
    LimitedDevice device = split_limit(word);
    std::string name = name_in_list(device.name);
    if (!is_single(name)) {
      fail(Category::config,
           "'{}' cannot be in a list; a list names single devices, such as [cuda:0, cuda:1]",
           excerpt(word));
    }
    // A GPU may carry several devices of a run: that is how one GPU tries what several do.
    if (index_of(name, "cpu") && std::ranges::count(without_limits(names), name) > 0)
      fail(Category::config, "{} is in the list twice; name each CPU device once", name);
    names.push_back(to_word({name, device.limit}));
  }
  return names;
}

std::optional<GpuGroup> gpu_group(std::string_view word) {
  if (word == "cuda") return GpuGroup{};
  if (auto count = count_of(word, "cuda")) return GpuGroup{count};
  auto idle = index_of(word, "auto");
  return idle && *idle > 0 ? std::optional(GpuGroup{idle, true}) : std::nullopt;
}

bool are_gpus(const std::vector<std::string>& devices) {
  return gpu_group(devices.front()) || names_gpu(split_limit(devices.front()).name);
}

bool is_gpu_uuid(std::string_view word) {
  if (!word.starts_with("GPU-") && !word.starts_with("MIG-")) return false;
  std::string_view rest = word.substr(4);
  // An older driver's MIG device is "MIG-GPU-<uuid>/<instance>/<compute instance>".
  return !rest.empty() && std::ranges::all_of(rest, [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '/';
  });
}

bool is_pci_bus_id(std::string_view word) {
  size_t colons = static_cast<size_t>(std::ranges::count(word, ':'));
  if (colons != 1 && colons != 2) return false;
  if (colons == 2) {
    std::string_view domain = word.substr(0, word.find(':'));
    if (domain.size() < 4 || domain.size() > 8 || !is_hex(domain)) return false;
    word.remove_prefix(domain.size() + 1);
  }
  return word.size() == 7 && word[2] == ':' && word[5] == '.' && is_hex(word.substr(0, 2)) &&
         is_hex(word.substr(3, 2)) && word[6] >= '0' && word[6] <= '7';
}

bool names_gpu(std::string_view word) {
  return index_of(word, "cuda") || is_gpu_uuid(word) || is_pci_bus_id(word);
}

std::string devices_note(const std::vector<std::string>& devices) {
  auto count = devices.size() == 1 ? index_of(devices.front(), "cpu") : std::nullopt;
  if (!count || *count == 0) return "";
  return fmt::format("cpu:{0} alone is read as {1}; write {0}xcpu", *count,
                     counted(*count, "CPU device"));
}

void check_parameter_device(const std::string& device) {
  if (device == "auto" || device == "cpu" || is_single(device)) return;
  fail(Category::config,
       "'{}' is not a single device; write auto, cpu, or a name such as cpu:0 or cuda:1",
       excerpt(device));
}

// PCI bus ids have colons and a point themselves, so whole names come first.
LimitedDevice split_limit(std::string_view word) {
  size_t colon = word.rfind(':');
  if (colon == word.npos || is_pci_bus_id(word)) return {std::string(word), ""};
  std::string_view name = word.substr(0, colon), limit = word.substr(colon + 1);
  if (names_device(name)) {
    if (!limit.empty() && limit != "auto") {
      parse_memory_limit(limit);
      return {std::string(name), std::string(limit)};
    }
    fail(Category::config, "'{}' has no limit behind its last colon; write {}, or {}:8GiB",
         excerpt(word), name, name);
  }
  if (looks_like_limit(limit)) {
    fail(Category::config,
         "'{}': a memory limit belongs to a single device; list them, such as "
         "[cuda:0:8GiB, cuda:0:4GiB], or set memory.limit for all",
         excerpt(word));
  }
  return {std::string(word), ""};
}

std::string to_word(const LimitedDevice& device) {
  return device.limit.empty() ? device.name : device.name + ":" + device.limit;
}

std::vector<std::string> without_limits(std::vector<std::string> words) {
  for (std::string& word : words) word = split_limit(word).name;
  return words;
}

}  // namespace spire
