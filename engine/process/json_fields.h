// Strict access to JSON messages between processes: a damaged one is always an Error.
#pragma once
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/base/fail.h"

namespace spire {

// Serializes a message. Bytes that are not UTF-8, as in the name of a file, become U+FFFD.
inline std::string to_message(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Parses a message. This and all functions below throw Error(collective) if a message is not as
// expected. Values take some 50 times their text in memory, so their depth and number are limited.
inline nlohmann::json parse_message(std::string_view text, int64_t max_values = 1'000'000) try {
  constexpr int max_depth = 8;
  int64_t values = 0;
  return nlohmann::json::parse(
      text, [&](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
        if (depth > max_depth || ++values > max_values)
          fail(Category::collective, "a message is broken: it has too many values");
        return true;
      });
} catch (const nlohmann::json::exception&) {
  fail(Category::collective, "a message is broken: it is not JSON");
}

// The fields of one JSON object. Their types are checked without conversions, and their number must
// be `count`, so that an unknown field is an error, too.
class JsonFields {
 public:
  JsonFields(const nlohmann::json& object, size_t count) : object_(object) {
    check(object.is_object() && object.size() == count, "its fields");
  }

  // Throws unless `holds`. what: the part of the message that is wrong.
  static void check(bool holds, std::string_view what) {
    if (!holds) fail(Category::collective, "a message is broken: {}", what);
  }

  std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> texts;
    for (const nlohmann::json& text : list(name)) {
      check(text.is_string(), name);
      texts.push_back(text.get<std::string>());
    }
    return texts;
  }

  // Convert a value that is not a field of an object. name: what the error's message calls it.
  template <typename Integer = int>
  static Integer integer_in(const nlohmann::json& value, const char* name) {
    check(value.is_number_integer(), name);
    // nlohmann keeps numbers without a sign as unsigned, negative ones as signed.
    bool fits = value.is_number_unsigned() ? std::in_range<Integer>(value.get<uint64_t>())
                                           : std::in_range<Integer>(value.get<int64_t>());
    check(fits, name);
    return value.get<Integer>();
  }
  static double seconds_in(const nlohmann::json& value, const char* name) {
    check(value.is_number(), name);
    auto seconds = value.get<double>();
    check(std::isfinite(seconds) && seconds >= 0, name);
    return seconds;
  }

  const nlohmann::json& list(const char* name) const {
    check(at(name).is_array(), name);
    return at(name);
  }
  const nlohmann::json& object(const char* name) const { return at(name); }

  template <typename Integer = int>
  Integer integer(const char* name) const {
    return integer_in<Integer>(at(name), name);
  }
  double seconds(const char* name) const { return seconds_in(at(name), name); }
  bool flag(const char* name) const {
    check(at(name).is_boolean(), name);
    return at(name).get<bool>();
  }
  std::string text(const char* name) const {
    check(at(name).is_string(), name);
    return at(name).get<std::string>();
  }

 private:
  const nlohmann::json& at(const char* name) const {
    auto found = object_.find(name);
    check(found != object_.end(), name);
    return *found;
  }

  const nlohmann::json& object_;
};

}  // namespace spire
