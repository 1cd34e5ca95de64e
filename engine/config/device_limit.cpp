#include "engine/config/device_limit.h"

#include <spire/error.h>

#include "engine/config/devices.h"
#include "engine/config/memory_limit.h"
#include "engine/config/scalar.h"

namespace spire {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// In a list, a number is a GPU's.
bool names_device(std::string_view word) {
  return names_gpu(word) || is_number(word) ||
         (word.starts_with("cpu:") && is_number(word.substr(4)));
}

// True for text that can only be meant as a limit: a number with a unit of bytes.
bool looks_like_limit(std::string_view text) {
  return text.ends_with('B') && text.front() >= '0' && text.front() <= '9';
}

}  // namespace

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
