// How an engine is chosen for one operation: the order of what is tried, whatever the library.
#pragma once
#include "kernels/autotune/tuning.h"

namespace spire::inline kernels {

// What a library's engines can do for the operation.
class Engines {
 public:
  virtual ~Engines() = default;
  // Prepares the engine of this name and settles on it; false where that cannot be.
  virtual bool recall(const std::string& name) = 0;
  // Prepares at most so many, the library's favourite first; returns how many there are.
  virtual size_t propose(size_t most) = 0;
  // Of a proposed engine's run, in any unit; none where it fails. Throws Error(out_of_memory) where
  // there is no memory to try it in, and what ruins the device.
  virtual std::optional<float> time(size_t index) = 0;
  // Settles on a proposed engine and says its name.
  virtual std::string settle(size_t index) = 0;
};

// More engines than these differ little, and preparing one may take a second.
inline constexpr size_t max_engines = 10;

// Settles on one of them: the one that tuning knows for the key; else the fastest, if tuning
// measures; else, or where there is no memory to measure in, the library's favourite. Tuning hears
// of it; later runs only of what was measured against others, so that one whose rivals are missing
// here is not kept for machines that have them. tuning null: the favourite. False where there is no
// engine that works.
bool choose_engine(Engines& engines, const std::string& key, Tuning* tuning);

}  // namespace spire::inline kernels
