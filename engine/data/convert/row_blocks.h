// Loop over blocks of rows on several threads, for conversion and verification.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spire/error.h>

#include "engine/base/thread.h"
#include "engine/data/dataset.h"

namespace spire::inline data {

struct RowBuffer {  // one thread's memory for the rows of a block, one entry per column
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

// Returns first, first + 1, ..., first + count - 1.
inline std::vector<int64_t> sequence(int64_t first, int64_t count) {
  std::vector<int64_t> samples(static_cast<size_t>(count));
  std::iota(samples.begin(), samples.end(), first);
  return samples;
}

// Distributes blocks over `threads` threads: the calling one, and others named "<name> 1" and so
// on. Each thread calls next(), one at a time, and passes the block to body(block,
// RowBuffer&), until next() returns nullopt. After next() or body() has thrown, no other call
// begins. Returns the first exception; null if there was none.
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
