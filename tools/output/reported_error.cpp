#include "tools/output/reported_error.h"

namespace spire {

std::string reported_error(const std::string& err) {
  size_t line = err.rfind("error[");
  if (line == err.npos) return "";
  std::string text = err.substr(line, err.find('\n', line) - line);
  size_t message = text.find("]: ");
  return message == text.npos ? "" : text.substr(message + 3);
}

}  // namespace spire
