// Ranks as threads: run(rank) for each of `size` ranks at a time. When all have ended, the first
// exception by rank is thrown again.
#pragma once
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace spire {

inline void run_ranks(int size, const std::function<void(int rank)>& run) {
  std::vector<std::exception_ptr> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        run(rank);
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace spire
