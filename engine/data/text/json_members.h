// Members of a JSON object in a line of text, of which only those that are asked for are read.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spire::inline data {

struct JsonMember {
  std::string key;
  std::string_view value;  // as it is written, within the line
};

// Returns the members of an object (RFC 8259), in their order. Values are not decoded: numbers of
// any size, bytes that are no UTF-8, and the NaN, Infinity and -Infinity that Python writes are let
// through. nullopt: the text is no object.
std::optional<std::vector<JsonMember>> json_members(std::string_view object);

}  // namespace spire::inline data
