// Main of spire-hdf5-check, the program that hdf5_check.h starts.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <new>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <unistd.h>

#include "engine/base/hdf5.h"
#include "engine/data/formats/hdf5_check.h"
#include "engine/data/formats/hdf5_file.h"
#include "engine/data/formats/hdf5_samples.h"
#include "engine/data/formats/hdf5_table.h"

namespace spire::inline data {
namespace {

constexpr int64_t max_parts = 4;           // of a split's rows
constexpr int64_t checked_part = 1 << 20;  // of a part
constexpr std::array attributes = {"mean",        "stddev",     "feature_names",
                                   "class_names", "vocabulary", "classes"};

// Calls read() and ignores Error(data): a run that needs the part reports it. Here it only matters
// that reading ends.
template <typename Read>
void read_to_end(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;
  }
}

void probe_attributes(const Hdf5Table& table) {
  for (size_t column : {0, 1})
    for (const char* name : attributes) {
      read_to_end([&] { table.words(column, name); });
      read_to_end([&] { table.numbers(column, name); });
    }
}

void probe_rows(const Hdf5Table& table) {
  auto row_bytes = static_cast<int64_t>(table.row_bytes());
  int64_t rows = std::clamp<int64_t>(checked_part / row_bytes, 1, table.count());
  std::array<std::vector<std::byte>, 2> memory;
  for (size_t c : {0, 1})
    memory[c].resize(static_cast<size_t>(rows) * table.columns()[c].row_bytes());
  int64_t last = table.count() - rows;
  for (int64_t part = 0; part < max_parts; ++part)
    read_to_end([&] {
      table.read(last * part / (max_parts - 1), rows,
                 std::array<std::byte*, 2>{memory[0].data(), memory[1].data()});
    });
}

// Sets limits of the process. Memory counts from what it has: sanitizers map terabytes without
// touching them.
void take_limits(const Hdf5CheckLimits& limits) {
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

// Output of the process, "+" or "-<problem>", and the exit code, the problem's category.
struct Verdict {
  std::string text;
  int exit_code = 0;
};

Verdict refused(const std::string& why, Category category) {
  return {"-" + why, static_cast<int>(category)};
}

// probe(): reads the file.
template <typename Probe>
Verdict verdict_of(const std::filesystem::path& path, const Hdf5CheckLimits& limits,
                   const Probe& probe) {
  try {
    translate_hdf5_errors(path, probe);
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

void probe_hdf5_file(const std::filesystem::path& path, const Hdf5Config& config) {
  h5::Session session;
  PartNames parts = hdf5_parts(path, {});
  ArrayNames usual;
  for (const auto& [names, group] :
       {std::pair{&config.train, parts.train}, {&config.test, parts.test}, {&usual, parts.val}}) {
    if (group.empty()) continue;
    Hdf5Table table(path, *names, group);
    table.read_chunk_index();
    for (size_t column : {0, 1}) table.layout(column);
    table.datasets_beside();
    probe_attributes(table);
    read_to_end([&] { table.checksums(); });
    probe_rows(table);
  }
}

void probe_hdf5_samples(const std::filesystem::path& path, const ArrayNames& names) {
  h5::Session session;
  Hdf5Samples samples(path, names);
  for (const Hdf5Array* array : {&samples.input(), samples.target()}) {
    if (array == nullptr) continue;
    array->read_chunk_index();
    array->layout();
    for (const char* name : attributes) read_to_end([&] { array->words(name); });
    StoredArray stored = array->stored();
    int64_t elements = 1;
    for (int64_t dim : stored.row) elements *= dim;
    std::vector<std::byte> memory(static_cast<size_t>(elements) * sizeof(double));
    for (int64_t part = 0; part < max_parts; ++part)
      read_to_end([&] {
        array->read((array->rows() - 1) * part / (max_parts - 1), 1, DType::f64, memory.data());
      });
  }
}

void hdf5_check_main(int argc, char** argv) {
  Verdict verdict = refused("spire-hdf5-check FILE INPUT TARGET [INPUT TARGET]", Category::config);
  if (argc == 4 || argc == 6) {
    std::error_code error;
    uintmax_t bytes = std::filesystem::file_size(argv[1], error);
    Hdf5CheckLimits limits(error ? 0 : bytes);
    take_limits(limits);
    ArrayNames first = {argv[2], argv[3]};
    verdict = verdict_of(argv[1], limits, [&] {
      if (argc == 4) return probe_hdf5_samples(argv[1], first);
      Hdf5Config config;
      config.train = first;
      config.test = {argv[4], argv[5]};
      probe_hdf5_file(argv[1], config);
    });
  }
  std::fwrite(verdict.text.data(), 1, verdict.text.size(), stdout);
  std::fflush(stdout);
  ::_exit(verdict.exit_code);  // without libhdf5's cleanup, which may hang after damage
}

}  // namespace spire::inline data
