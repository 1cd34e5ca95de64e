// The side of the program spire-hdf5-check.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <new>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/hdf5_program.h"

namespace spire::h5 {
namespace {

// Limits of the process. Times grow with the file, since large files have long chunk indices.
struct CheckLimits {
  explicit CheckLimits(uint64_t file_bytes)
      : cpu_seconds(20 + file_bytes / (uint64_t{256} << 20)), seconds(30 * cpu_seconds) {}

  uint64_t memory_bytes = uint64_t{2} << 30;  // in addition to what the process has at its start
  uint64_t cpu_seconds, seconds;
};

// Sets limits of the process. Memory counts from what it has: sanitizers map terabytes without
// touching them.
void take_limits(const CheckLimits& limits) {
  uint64_t pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r"); file != nullptr) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  uint64_t memory = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) + limits.memory_bytes;
  // Only soft limits: at a hard CPU limit the kernel sends SIGKILL, which looks like a lack of
  // memory.
  auto limit = [](auto what, uint64_t most) {
    rlimit both{};
    ::getrlimit(what, &both);
    both.rlim_cur = std::min<rlim_t>(both.rlim_cur, most);
    ::setrlimit(what, &both);
  };
  limit(RLIMIT_AS, memory);
  limit(RLIMIT_CPU, limits.cpu_seconds);
  limit(RLIMIT_CORE, 0);  // a crash is expected: no core dump
  ::alarm(static_cast<unsigned>(limits.seconds));
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends with the run
}

uint64_t bytes_of(const std::filesystem::path& path) {
  std::error_code error;
  uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

// Writes "+", or "-" and the problem; the exit code is the problem's category. Ends without
// libhdf5's cleanup, which may hang after damage.
[[noreturn]] void end(const std::string& verdict, int exit_code) {
  std::fwrite(verdict.data(), 1, verdict.size(), stdout);
  std::fflush(stdout);
  ::_exit(exit_code);
}

}  // namespace

void end_with_verdict(const std::filesystem::path& path, Category damaged,
                      const std::function<void()>& read) {
  CheckLimits limits(bytes_of(path));
  take_limits(limits);
  try {
    read();
  } catch (const std::bad_alloc&) {
    end(fmt::format("-{}: needs over {} MiB to be read; get an intact copy", path.string(),
                    limits.memory_bytes >> 20),
        static_cast<int>(damaged));
  } catch (const std::exception& error) {
    end(fmt::format("-{}", error.what()), static_cast<int>(classify(error).category()));
  }
  end("+", 0);
}

}  // namespace spire::h5
