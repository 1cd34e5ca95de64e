// Start of the checking program and judgment of its end. The program is $SPIRE_HDF5_CHECK, else the
// first one in program_folders(), else the installed one. It is started by posix_spawn and inherits
// standard error only, and not the run's secret.
#include "engine/base/hdf5_program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <sys/wait.h>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/system.h"

namespace spire::h5 {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_verdict_bytes = 1 << 16;

// Returns the path of the checking program; empty: there is none.
fs::path checking_program() {
  if (const char* named = std::getenv("SPIRE_HDF5_CHECK"); named != nullptr) return named;
  std::error_code error;
  std::vector<fs::path> folders =
      program_folders(fs::read_symlink("/proc/self/exe", error), own_file());
  folders.emplace_back(SPIRE_INSTALLED_PROGRAMS);
  for (const fs::path& folder : folders)
    if (fs::path path = folder / check_program; ::access(path.c_str(), X_OK) == 0) return path;
  return {};
}

// RAII pipe.
struct Pipe {
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      fail(Category::device, "cannot make a pipe: {}", system_reason(errno));
  }
  ~Pipe() {
    close(0);
    close(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close(size_t end) {
    if (ends[end] >= 0) ::close(std::exchange(ends[end], -1));
  }

  std::array<int, 2> ends{-1, -1};
};

// Arguments of posix_spawn: a new process group, so that Ctrl+C reaches the run only, which then
// stops as it should; no signal blocked; standard output is the pipe; no input.
struct SpawnSetup {
  explicit SpawnSetup(int output) {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    ::posix_spawnattr_init(&attributes);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (int signal : {SIGALRM, SIGXCPU, SIGPIPE, SIGTERM}) sigaddset(&defaults, signal);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};
};

// Returns the environment without the run's secret, which a program that parses untrusted files
// must not know.
std::vector<char*> variables_without_secret() {
  std::vector<char*> variables;
  for (char** each = environ; *each != nullptr; ++each)
    if (!std::string_view(*each).starts_with("SPIRE_SECRET")) variables.push_back(*each);
  variables.push_back(nullptr);
  return variables;
}

// words: arguments of the program.
pid_t start(const fs::path& program, std::vector<std::string> words, int output) {
  words.insert(words.begin(), check_program);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  SpawnSetup setup(output);
  std::vector<char*> variables = variables_without_secret();
  pid_t child = 0;
  int error = ::posix_spawn(&child, program.c_str(), &setup.files, &setup.attributes,
                            pointers.data(), variables.data());
  if (error != 0)
    fail(Category::device, "{}: cannot be started: {}; it checks HDF5 files before they are read",
         program.string(), system_reason(error));
  return child;
}

// Reads what the process writes until it ends, which its limits ensure. Reads all, as a full pipe
// would block the process, but keeps the beginning only.
std::string read_verdict(int input) {
  std::string verdict;
  std::array<char, 4096> part{};
  while (true) {
    ssize_t got = ::read(input, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size_t room = max_verdict_bytes - verdict.size();
    verdict.append(part.data(), std::min(room, static_cast<size_t>(got)));
  }
  return verdict;
}

// End of the process: by signal or with an exit code. Neither is known where other code of this
// program waits for all children.
struct ProcessEnd {
  int signal = 0;
  std::optional<int> exit_code;
};

ProcessEnd wait_for(pid_t child) {
  int status = 0;
  pid_t waited = 0;
  do {
    waited = ::waitpid(child, &status, 0);
  } while (waited < 0 && errno == EINTR);
  if (waited != child) return {};
  if (WIFSIGNALED(status)) return {WTERMSIG(status), {}};
  return {0, WEXITSTATUS(status)};
}

// Throws Error(device) for ends that do not depend on the file: the program never ran, or was
// killed.
void require_ran(const fs::path& program, const fs::path& path, const ProcessEnd& end) {
  if (end.exit_code == 126 || end.exit_code == 127)  // of a shell, or of the dynamic loader
    fail(Category::device,
         "{}: cannot run (exit {}); reinstall it beside trainer, or set SPIRE_HDF5_CHECK",
         program.string(), *end.exit_code);
  if (end.signal == SIGKILL)
    fail(Category::device,
         "{}: was killed, by hand or for want of memory, while it read {}; the file may be good: "
         "start again with more memory free",
         program.string(), path.string());
}

// Returns the category that the exit code names.
Category category_of(const ProcessEnd& end, Category damaged) {
  for (Category known :
       {Category::unexpected, Category::config, Category::device, Category::out_of_memory})
    if (end.exit_code == static_cast<int>(known)) return known;
  return damaged;
}

// Throws unless the verdict is "+". A crash is a property of the file: Error(damaged).
void require_good(const std::string& verdict, const ProcessEnd& end, const fs::path& path,
                  Category damaged) {
  if (end.signal == 0 && verdict.starts_with('-'))
    throw Error(category_of(end, damaged), verdict.substr(1));
  if (end.signal == 0 && verdict == "+" && end.exit_code.value_or(0) == 0) return;
  std::string how = "ends the program";
  if (end.signal != 0) how = fmt::format("crashes ({})", ::strsignal(end.signal));
  if (end.signal == SIGXCPU || end.signal == SIGALRM) how = "does not come back";
  fail(damaged,
       "{}: the HDF5 library {} when it reads this file; it is damaged, get an intact copy",
       path.string(), how);
}

}  // namespace

// The library is lib/libspire.so or lib/x86_64-linux-gnu/libspire.so beside bin, in a wheel
// spire/lib/libspire.so or spire/_core.so.
std::vector<fs::path> program_folders(const fs::path& program, const fs::path& own) {
  fs::path folder = own.parent_path(), above = folder.parent_path();
  return {program.parent_path(), folder, folder / "bin", above / "bin",
          above.parent_path() / "bin"};
}

std::string unchecked_words(const fs::path& path) {
  return fmt::format(
      "{}: read unchecked, as {} is not beside this program; put it there, or set SPIRE_HDF5_CHECK "
      "to its path",
      path.string(), check_program);
}

bool read_by_program(const fs::path& path, std::vector<std::string> words, Category damaged) {
  fs::path program = checking_program();
  if (program.empty()) return false;
  Pipe pipe;
  words.insert(words.begin(), path.string());
  pid_t child = start(program, std::move(words), pipe.ends[1]);
  pipe.close(1);
  std::string verdict = read_verdict(pipe.ends[0]);
  ProcessEnd end = wait_for(child);
  require_ran(program, path, end);
  require_good(verdict, end, path, damaged);
  return true;
}

}  // namespace spire::h5
