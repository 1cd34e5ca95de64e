#include <fcntl.h>
#include <spawn.h>
#include <spire/base/error.h>
#include <spire/data/hdf5_check.h>
#include <spire/data/hdf5_file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr const char* program_name = "spire-hdf5-check";
constexpr size_t most_verdict_bytes = 1 << 16;

// Empty: there is none.
fs::path checking_program() {
  if (const char* named = std::getenv("SPIRE_HDF5_CHECK"); named != nullptr) return named;
  std::error_code error;
  fs::path beside = fs::read_symlink("/proc/self/exe", error).parent_path() / program_name;
  for (const fs::path& path : {beside, fs::path(SPIRE_INSTALLED_PROGRAMS) / program_name})
    if (::access(path.c_str(), X_OK) == 0) return path;
  return {};
}

// Both ends of a pipe, closed with it.
struct Pipe {
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      fail(Category::device, "cannot make a pipe: {}", std::strerror(errno));
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

// What posix_spawn is told: a group of its own, so that a Ctrl+C reaches the run alone, which then
// stops in its own way; no signal blocked; standard output is the pipe, and no input.
struct SpawnSetup {
  explicit SpawnSetup(int output) {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    ::posix_spawnattr_init(&attributes);
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    for (int signal : {SIGALRM, SIGXCPU, SIGPIPE, SIGTERM}) sigaddset(&usual, signal);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &usual);
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

pid_t start(const fs::path& program, const fs::path& file, const Hdf5Config& config, int output) {
  std::array<std::string, 6> words = {program_name,        file.string(),     config.train.input,
                                      config.train.target, config.test.input, config.test.target};
  std::array<char*, words.size() + 1> pointers{};
  for (size_t i = 0; i < words.size(); ++i) pointers[i] = words[i].data();
  SpawnSetup setup(output);
  pid_t child = 0;
  int error = ::posix_spawn(&child, program.c_str(), &setup.files, &setup.attributes,
                            pointers.data(), environ);
  if (error != 0)
    fail(Category::device, "{}: cannot be started: {}; it checks HDF5 files before they are read",
         program.string(), std::strerror(error));
  return child;
}

// All that the other side writes until it ends: its own limits see to that.
std::string read_verdict(int input) {
  std::string verdict;
  std::array<char, 4096> part{};
  while (verdict.size() < most_verdict_bytes) {
    ssize_t got = ::read(input, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    verdict.append(part.data(), static_cast<size_t>(got));
  }
  return verdict;
}

// How the process has ended, in words; empty when it came to its end, or when someone else in this
// program, who waits for all children, was told.
std::string wait_for(pid_t child) {
  int status = 0;
  pid_t waited = 0;
  do {
    waited = ::waitpid(child, &status, 0);
  } while (waited < 0 && errno == EINTR);
  if (waited != child || !WIFSIGNALED(status)) return "";
  int signal = WTERMSIG(status);
  if (signal == SIGXCPU || signal == SIGALRM || signal == SIGKILL) return "does not come back";
  return fmt::format("crashes ({})", ::strsignal(signal));
}

}  // namespace

FileStamp check_hdf5_file(const fs::path& path, const Hdf5Config& config) {
  require_hdf5_file(path);
  FileStamp stamp = SteadyFile(path).stamp();
  fs::path program = checking_program();
  if (program.empty()) return stamp;
  Pipe pipe;
  pid_t child = start(program, path, config, pipe.ends[1]);
  pipe.close(1);
  std::string verdict = read_verdict(pipe.ends[0]);
  std::string end = wait_for(child);
  if (verdict.starts_with('-') && end.empty()) fail(Category::data, "{}", verdict.substr(1));
  if (verdict != "+" || !end.empty())
    fail(Category::data,
         "{}: the HDF5 library {} when it reads this file; it is damaged, get an intact copy",
         path.string(), end.empty() ? "ends the program" : end);
  return stamp;
}

}  // namespace spire
