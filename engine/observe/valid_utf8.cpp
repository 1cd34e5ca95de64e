#include "engine/observe/valid_utf8.h"

#include <nlohmann/json.hpp>

namespace spire {

// JSON is UTF-8, and its writer has the replacement.
std::string valid_utf8(std::string_view text) {
  using Json = nlohmann::json;
  std::string json = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(json).get<std::string>();
}

}  // namespace spire
