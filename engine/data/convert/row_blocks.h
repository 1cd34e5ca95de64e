// Loop over blocks of rows on several threads, for conversion and verification.
#pragma once
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include <spire/error.h>

#include "engine/base/thread.h"
#include "engine/data/dataset.h"

namespace spire {

// Distributes blocks over `threads` threads: the calling one, and others named "<name> 1" and so
// on. Each thread calls next(), one at a time, and passes the block to body(block,
// SampleBuffer&), until next() returns nullopt. After next() or body() has thrown, no other call
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
    SampleBuffer buffer;
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

}  // namespace spire
