#include "tools/process/child_process.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/system.h"
#include "tools/config_source.h"

namespace spire {

namespace {

// Returns the texts as execve() takes them, with a null pointer at the end.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Made before fork(): a child between fork() and exec may not allocate.
std::vector<std::string> environment_with(const std::vector<Variable>& variables) {
  std::vector<std::string> result;
  for (const auto& [name, value] : variables) result.push_back(name + "=" + value);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    std::string_view name = text.substr(0, text.find('='));
    if (std::ranges::find(variables, name, &Variable::name) == variables.end())
      result.emplace_back(text);
  }
  return result;
}

// Runs in the child between fork and exec: only async-signal-safe calls. posix_spawn() has no
// PR_SET_PDEATHSIG.
[[noreturn]] void become(char* const* words, char* const* environment, const ChildSetup& setup,
                         pid_t parent) {
  setpgid(0, setup.group);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent died before the prctl()
  if (int nowhere = setup.silent ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1; nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  if (setup.streams.out >= 0) dup2(setup.streams.out, STDOUT_FILENO);
  if (setup.streams.err >= 0) dup2(setup.streams.err, STDERR_FILENO);
  keep_to_cores(setup.cores);
  sigprocmask(SIG_SETMASK, &setup.signal_mask, nullptr);
  execve("/proc/self/exe", words, environment);
  constexpr std::string_view text = "error[3]: /proc/self/exe, this program, cannot be started\n";
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  _exit(static_cast<int>(Category::device));
}

}  // namespace

std::string to_string(const ExitStatus& status) {
  std::string name = status.rank < 0 ? "the process" : fmt::format("rank {}", status.rank);
  if (status.forced) return name + " did not end by itself";
  if (status.signal == 0) return fmt::format("{} ended with exit code {}", name, status.code);
  return fmt::format("{} was killed by signal {} ({})", name, status.signal,
                     strsignal(status.signal));
}

ChildProcess::ChildProcess(ChildSetup setup) {
  setup.words.insert(setup.words.begin(), "trainer");
  setup.variables.push_back({devices_variable, ""});
  std::vector<std::string> environment = environment_with(setup.variables);
  std::vector<char*> words = pointers(setup.words), entries = pointers(environment);
  pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0)
    fail(Category::device, "no process can be started: {}; {}", std::strerror(errno),
         thread_limits());
  if (pid_ == 0) become(words.data(), entries.data(), setup, parent);
  setpgid(pid_, setup.group);  // parent and child both set it: either may run first
  running_ = true;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(other.pid_), running_(std::exchange(other.running_, false)) {}

// Waits for it, too, so that no zombie is left.
ChildProcess::~ChildProcess() {
  if (!running_) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void ChildProcess::abandon() {
  if (running_) kill(pid_, SIGKILL);
  running_ = false;
}

std::optional<ExitStatus> ChildProcess::try_wait() {
  int status = 0;
  if (!running_ || waitpid(pid_, &status, WNOHANG) != pid_) return {};
  running_ = false;
  return ExitStatus{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                    .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

CapturedOutput::CapturedOutput() : descriptor_(memfd_create("output", MFD_CLOEXEC)) {
  if (descriptor_ < 0)
    fail(Category::device, "no room for a process's output: {}", system_reason(errno));
}

// The position is shared with the process that wrote.
std::string CapturedOutput::text() const {
  lseek(descriptor_, 0, SEEK_SET);
  return read_stream(descriptor_, "output of a process", Category::device);
}

std::string reported_error(const std::string& err) {
  size_t line = err.rfind("error[");
  if (line == err.npos) return "";
  std::string text = err.substr(line, err.find('\n', line) - line);
  size_t message = text.find("]: ");
  return message == text.npos ? "" : text.substr(message + 3);
}

}  // namespace spire
