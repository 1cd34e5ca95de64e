#include "engine/observe/audit_file.h"

#include <charconv>
#include <cstddef>
#include <system_error>

#include "engine/base/read_file.h"

namespace spire {
namespace {

// All lines begin with their step, so that a long file need not be parsed.
bool belongs(std::string_view line, int64_t last_step) {
  constexpr std::string_view start = "{\"step\":";
  int64_t step = 0;
  if (!line.starts_with(start)) return false;
  line.remove_prefix(start.size());
  auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), step);
  return error == std::errc() && step <= last_step;
}

}  // namespace

std::string audit_through(std::string_view text, int64_t step) {
  size_t kept = 0;
  for (size_t end; (end = text.find('\n', kept)) != text.npos; kept = end + 1)
    if (!belongs(text.substr(kept, end - kept), step)) break;
  return std::string(text.substr(0, kept));
}

void AuditFile::on_start(const StartInfo& start) {
  std::string kept;
  if (start.audit_goes_on) {
    auto before = read_file_if_there(file_.path(), Category::config, any_size);
    kept = audit_through(before.value_or(""), start.resumed_step);
  }
  if (!start.audit_goes_on && start.audit_lines.empty() && !is_there(file_.path())) return;
  file_.begin(kept + start.audit_lines);
}

}  // namespace spire
