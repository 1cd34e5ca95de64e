// The checking program's side of hdf5_check.h.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <new>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <unistd.h>

#include "engine/data/formats/hdf5_check.h"
#include "engine/data/formats/hdf5_table.h"

namespace spire::inline data {
namespace {

constexpr int64_t max_parts = 4;         // of a half's rows that are read
constexpr int64_t part_bytes = 1 << 20;  // of each
constexpr std::array attributes = {"mean",        "stddev",     "feature_names",
                                   "class_names", "vocabulary", "classes"};

// What is wrong with a part is told by whoever needs it: here it matters that reading it comes to
// an end.
template <typename Read>
void survive(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;
  }
}

void examine_attributes(const Hdf5Table& table) {
  for (size_t column : {0, 1})
    for (const char* name : attributes) {
      survive([&] { table.words(column, name); });
      survive([&] { table.numbers(column, name); });
    }
}

void examine_rows(const Hdf5Table& table) {
  auto row_bytes = static_cast<int64_t>(table.row_bytes());
  int64_t rows = std::clamp<int64_t>(part_bytes / row_bytes, 1, table.count());
  std::array<std::vector<std::byte>, 2> memory;
  for (size_t c : {0, 1})
    memory[c].resize(static_cast<size_t>(rows) * table.columns()[c].row_bytes());
  int64_t last = table.count() - rows;
  for (int64_t part = 0; part < max_parts; ++part)
    survive([&] {
      table.read(last * part / (max_parts - 1), rows,
                 std::array<std::byte*, 2>{memory[0].data(), memory[1].data()});
    });
}

// Memory is counted from what the process has: sanitizers map terabytes that they never touch.
void take_limits(const CheckLimits& limits) {
  uint64_t pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r"); file != nullptr) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  uint64_t memory = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) + limits.memory_bytes;
  // The hard limit stays: beyond it the kernel kills, and who was killed does not tell why.
  auto limit = [](auto what, uint64_t most) {
    rlimit both{};
    ::getrlimit(what, &both);
    both.rlim_cur = std::min<rlim_t>(both.rlim_cur, most);
    ::setrlimit(what, &both);
  };
  limit(RLIMIT_AS, memory);
  limit(RLIMIT_CPU, limits.cpu_seconds);
  limit(RLIMIT_CORE, 0);  // its crash is expected
  ::alarm(static_cast<unsigned>(limits.seconds));
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it is of no use to anyone else
}

// What the process writes, '+' or '-' and what is wrong, and the exit code that says of what kind.
struct Verdict {
  std::string text;
  int exit_code = 0;
};

Verdict refused(const std::string& why, Category category) {
  return {"-" + why, static_cast<int>(category)};
}

Verdict verdict_of(const std::filesystem::path& path, const Hdf5Config& config,
                   const CheckLimits& limits) {
  try {
    in_hdf5_file(path, [&] { examine_hdf5_file(path, config); });
    return {"+"};
  } catch (const std::bad_alloc&) {
    return refused(fmt::format("{}: needs over {} MiB to be read; get an intact copy",
                               path.string(), limits.memory_bytes >> 20),
                   Category::data);
  } catch (const std::exception& error) {
    return refused(error.what(), classify(error).category());
  }
}

}  // namespace

void examine_hdf5_file(const std::filesystem::path& path, const Hdf5Config& config) {
  h5::Session session;
  for (const auto& [half, group] : {std::pair{&config.train, "train"}, {&config.test, "test"}}) {
    Hdf5Table table(path, *half, group);
    table.walk_chunks();
    for (size_t column : {0, 1}) table.layout(column);
    table.neighbors();
    examine_attributes(table);
    survive([&] { table.checksums(); });
    examine_rows(table);
  }
}

void run_hdf5_check(int argc, char** argv) {
  Verdict verdict = refused("spire-hdf5-check FILE INPUT TARGET INPUT TARGET", Category::config);
  if (argc == 6) {
    std::error_code error;
    uintmax_t bytes = std::filesystem::file_size(argv[1], error);
    CheckLimits limits(error ? 0 : bytes);
    take_limits(limits);
    Hdf5Config config;
    config.train = {argv[2], argv[3]};
    config.test = {argv[4], argv[5]};
    verdict = verdict_of(argv[1], config, limits);
  }
  std::fwrite(verdict.text.data(), 1, verdict.text.size(), stdout);
  std::fflush(stdout);
  ::_exit(verdict.exit_code);  // libhdf5 is not cleaned up
}

}  // namespace spire::inline data
