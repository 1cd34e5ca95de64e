#include "engine/config/scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <pwd.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/synonyms.h"

namespace spire {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Removes the digits at the front and returns their number.
size_t skip_digits(std::string_view& text) {
  size_t count = static_cast<size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
  text.remove_prefix(count);
  return count;
}

void skip_sign(std::string_view& text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
}

// Accepts digits[.digits][e[sign]digits] with a digit before or after the point.
bool is_decimal_number(std::string_view text) {
  skip_sign(text);
  size_t digits = skip_digits(text);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    digits += skip_digits(text);
  }
  if (digits == 0) return false;
  if (!text.starts_with('e') && !text.starts_with('E')) return text.empty();
  text.remove_prefix(1);
  skip_sign(text);
  return skip_digits(text) > 0 && text.empty();
}

// Accepts 7, -3, 0; not 1_000, 1e3, 0x10, 007, which programs read in different ways.
bool is_decimal_integer(std::string_view text) {
  skip_sign(text);
  bool leading_zero = text.size() > 1 && text.front() == '0';
  return skip_digits(text) > 0 && text.empty() && !leading_zero;
}

// Parses by from_chars(), which knows no plus sign; it does not depend on the locale.
template <typename Integer>
Integer parse_whole(std::string_view text, std::string_view kind) {
  if (!is_decimal_integer(text)) {
    fail(Category::config, "expected {} in plain decimal digits, got '{}'", kind, excerpt(text));
  }
  std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  Integer value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    fail(Category::config, "{} is out of range; it must be {} of at most 64 bits", excerpt(text),
         kind);
  }
  return value;
}

// Case counts, as in the units of SI and IEC 80000-13: kB is 1000 bytes, KiB 1024.
constexpr std::array<std::pair<std::string_view, double>, 9> byte_units = {{
    {"KiB", 0x1p10},
    {"MiB", 0x1p20},
    {"GiB", 0x1p30},
    {"TiB", 0x1p40},
    {"kB", 1e3},
    {"MB", 1e6},
    {"GB", 1e9},
    {"TB", 1e12},
    {"B", 1},
}};

constexpr std::string_view memory_forms =
    "write auto, a fraction of the device's memory (0.8), or bytes with their unit (20GiB, 512MiB)";

MemoryLimit fraction_of(std::string_view text) {
  double fraction = parse_number(text);
  if (fraction > 0 && fraction <= 1) return {fraction, {}};
  fail(Category::config, "{} has no unit of bytes and is not a fraction above 0 and up to 1; {}",
       excerpt(text), memory_forms);
}

// The upper bound keeps the conversion to size_t defined.
size_t bytes_of(std::string_view text, double number, double unit) {
  double bytes = std::floor(number * unit);
  if (bytes < 1 || bytes > 0x1p62)
    fail(Category::config, "{} is not a possible amount of memory; {}", excerpt(text),
         memory_forms);
  return static_cast<size_t>(bytes);
}

constexpr int64_t max_port = 65535;

bool is_port(std::string_view text) {
  bool digits = !text.empty() && text.size() <= 5 && std::ranges::all_of(text, is_digit);
  return digits && parse_integer(text) <= max_port;
}

// Names and IPv4 addresses have no colons.
bool is_host(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
}

// Returns the home directory in the system's list of users; "" if it has no such user. name: "" for
// the user of this process.
std::string listed_home(const std::string& name) {
  std::array<char, 4096> text{};
  passwd entry{}, *found = nullptr;
  name.empty() ? getpwuid_r(getuid(), &entry, text.data(), text.size(), &found)
               : getpwnam_r(name.c_str(), &entry, text.data(), text.size(), &found);
  return found != nullptr && found->pw_dir != nullptr ? found->pw_dir : "";
}

}  // namespace

int64_t parse_integer(std::string_view text) {
  return parse_whole<int64_t>(text, "an integer");
}

uint64_t parse_unsigned(std::string_view text) {
  return parse_whole<uint64_t>(text, "an integer >= 0");
}

double parse_number(std::string_view text) {
  if (!is_decimal_number(text)) {
    fail(Category::config, "expected a finite number, got '{}'", excerpt(text));
  }
  std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  double value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc()) {
    fail(Category::config, "{} is too large or too small for a 64-bit floating-point number",
         excerpt(text));
  }
  return value;
}

// A number alone counts seconds. Units go down: "1h30m", not "30m1h".
double parse_duration(std::string_view text) {
  if (is_decimal_number(text)) return parse_number(text);
  constexpr std::array<std::pair<std::string_view, double>, 5> units = {
      {{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}, {"ms", 1e-3}}};
  double seconds = 0;
  auto unit = units.begin();
  std::string_view rest = text;
  do {
    size_t digits = std::min(rest.find_first_not_of("0123456789."), rest.size());
    std::string_view number = rest.substr(0, digits);
    rest.remove_prefix(digits);
    std::string_view letters = rest.substr(0, rest.find_first_of("0123456789."));
    unit = std::find_if(unit, units.end(), [&](auto each) { return letters == each.first; });
    if (unit == units.end() || !is_decimal_number(number))
      fail(Category::config,
           "expected a finite number, got '{}'; durations are written as 500ms, 90s, 10m, 1h30m or "
           "2d",
           excerpt(text));
    seconds += parse_number(number) * (unit++)->second;
    rest.remove_prefix(letters.size());
  } while (!rest.empty());
  return seconds;
}

bool parse_boolean(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  fail(Category::config, "expected true or false, got '{}'", excerpt(text));
}

std::string unknown_word(std::string_view word, const std::vector<std::string>& known) {
  return fmt::format("unknown value '{}'; must be {}{}{}", excerpt(word),
                     known.size() == 1 ? "" : "one of: ", fmt::join(known, ", "),
                     did_you_mean(meant_word(SynonymGroup::values, word, known)));
}

std::string excerpt(std::string_view text) {
  constexpr size_t longest = 60;
  return printable(text.substr(0, longest)) + (text.size() > longest ? "..." : "");
}

std::optional<size_t> MemoryLimit::share(size_t total, size_t sharers) const {
  if (bytes) return *bytes / sharers;
  if (!fraction) return std::nullopt;
  return static_cast<size_t>(*fraction * static_cast<double>(total)) / sharers;
}

// A number with a unit is bytes; a number alone is a fraction, so that "20" is refused and not read
// as 20 bytes.
MemoryLimit parse_memory_limit(std::string_view text) {
  if (text == "auto") return {};
  size_t number_end = text.find_last_of("0123456789.") + 1;
  std::string_view number = text.substr(0, number_end), unit = text.substr(number_end);
  if (number_end == 0 || number.find_first_not_of("0123456789.") != number.npos)
    fail(Category::config, "'{}' is not an amount of memory; {}", excerpt(text), memory_forms);
  if (unit.empty()) return fraction_of(number);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, size] : byte_units) {
    if (unit == name) return {{}, bytes_of(text, parse_number(number), size)};
  }
  fail(Category::config,
       "'{}' does not end in a unit of bytes (KiB, MiB, GiB, TiB, kB, MB, GB, TB or B); {}",
       excerpt(text), memory_forms);
}

std::optional<ListenAddress> parse_listen_address(std::string_view text) {
  if (text == "none") return {};
  ListenAddress address;
  std::string_view port = text;
  size_t colon = text.rfind(':');
  if (colon != text.npos) {
    address.host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  if (!is_host(address.host) || !is_port(port))
    fail(Category::config,
         "'{}' is no address; write HOST:PORT with a name or an IPv4 address (0.0.0.0: all "
         "interfaces), PORT for this machine alone (0: any free one, at most {}), or none",
         excerpt(text), max_port);
  address.port = static_cast<int>(parse_integer(port));
  return address;
}

std::string expand_home(const std::string& path) {
  if (!path.starts_with('~')) return path;
  size_t end = std::min(path.find('/'), path.size());
  std::string name = path.substr(1, end - 1), home;
  if (const char* set = std::getenv("HOME"); name.empty() && set != nullptr) home = set;
  if (home.empty()) home = listed_home(name);
  return home.empty() ? path : home + path.substr(end);
}

}  // namespace spire
