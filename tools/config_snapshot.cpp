#include "tools/config_snapshot.h"

#include <cerrno>
#include <sys/mman.h>

#include <unistd.h>

#include <spire/error.h>

#include "engine/base/system_limits.h"
#include "engine/config/text.h"

namespace spire::tool {

ConfigSnapshot::ConfigSnapshot(const ResolvedConfig& resolved)
    : descriptor_(memfd_create("config", 0)) {
  std::string text = to_yaml(resolved.config, left_out(resolved));
  // Memory takes all in one write, or none.
  if (write(descriptor_, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return;
  int reason = errno;
  if (descriptor_ >= 0) close(descriptor_);
  fail(Category::device, "no copy of the config can be made: {}", system_reason(reason));
}

ConfigSnapshot::~ConfigSnapshot() {
  close(descriptor_);
}

std::string ConfigSnapshot::path() const {
  return fmt::format("{}{}", folder, descriptor_);
}

}  // namespace spire::tool
