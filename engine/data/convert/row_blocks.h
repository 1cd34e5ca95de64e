// Loop of several threads over blocks of rows, for conversion and verification.
#pragma once
#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/thread.h"
#include "engine/data/dataset.h"

namespace spire::inline data {

// Memory of one thread for the rows of a block, by column.
struct RowBuffer {
  std::vector<std::vector<std::byte>> columns;

  // Throws what Dataset::read throws.
  void read(const Dataset& data, std::span<const int64_t> samples) {
    std::vector<std::byte*> pointers;
    columns.resize(data.spec().columns.size());
    for (size_t c = 0; c < columns.size(); ++c) {
      columns[c].resize(samples.size() * data.spec().columns[c].row_bytes());
      pointers.push_back(columns[c].data());
    }
    data.read(samples, 0, pointers);
  }
};

// Returns first, first + 1, ...
inline std::vector<int64_t> sequence(int64_t first, int64_t count) {
  std::vector<int64_t> samples(static_cast<size_t>(count));
  std::iota(samples.begin(), samples.end(), first);
  return samples;
}

// Calls body(*next(), RowBuffer&) on the calling thread and `threads` - 1 others, called "<name> 1"
// and so on, until next() returns nullopt on each. next() is called by one thread at a time. After
// an exception of either no other call begins. Returns the first exception; null: there was none.
template <typename Next, typename Body>
std::exception_ptr run_blocks(int64_t threads, const char* name, const Next& next,
                              const Body& body) {
  std::mutex mutex;  // guards `error`, and calls of next()
  std::exception_ptr error;
  auto next_unless_failed = [&]() -> std::optional<int64_t> {
    std::lock_guard lock(mutex);
    return error ? std::nullopt : next();
  };
  auto work = [&] {
    RowBuffer buffer;
    try {
      while (std::optional<int64_t> block = next_unless_failed()) body(*block, buffer);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int64_t i = 1; i < threads; ++i)
      others.push_back(start_thread({fmt::format("{} {}", name, i), {}}, work));
    work();
  }
  return error;
}

}  // namespace spire::inline data
