#include "tools/process/captured_output.h"

#include <cerrno>
#include <sys/mman.h>

#include <unistd.h>

#include <spire/error.h>

#include "engine/base/files.h"
#include "engine/base/system.h"

namespace spire {

CapturedOutput::CapturedOutput() : descriptor_(memfd_create("output", MFD_CLOEXEC)) {
  if (descriptor_ < 0)
    fail(Category::device, "no room for a process's output: {}", system_reason(errno));
}

CapturedOutput::~CapturedOutput() {
  if (descriptor_ >= 0) close(descriptor_);
}

// The position is shared with the process that wrote.
std::string CapturedOutput::text() const {
  lseek(descriptor_, 0, SEEK_SET);
  return read_text(descriptor_, "output of a process", Category::device);
}

std::string reported_error(const std::string& err) {
  size_t line = err.rfind("error[");
  if (line == err.npos) return "";
  std::string text = err.substr(line, err.find('\n', line) - line);
  size_t message = text.find("]: ");
  return message == text.npos ? "" : text.substr(message + 3);
}

}  // namespace spire
