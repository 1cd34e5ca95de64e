#include "kernels/autotune/engine_choice.h"

#include "kernels/autotune/fastest.h"

namespace spire::inline kernels {
namespace {

struct Found {
  std::optional<size_t> index;
  bool measured = false;
};

Found measure(Engines& engines, size_t count) {
  try {
    return {fastest(count, [&](size_t i) { return engines.time(i); }), true};
  } catch (const Error& error) {
    if (error.category() != Category::out_of_memory) throw;
    return {0, false};
  }
}

}  // namespace

bool choose_engine(Engines& engines, const std::string& key, Tuning* tuning) {
  if (tuning) {
    auto known = tuning->find(key);
    if (known && engines.recall(*known)) return true;
  }
  bool measures = tuning && tuning->measures();
  size_t count = engines.propose(measures ? max_engines : 1);
  if (count == 0) return false;
  Found found = count > 1 ? measure(engines, count) : Found{0, false};
  if (!found.index) return false;
  std::string name = engines.settle(*found.index);
  if (tuning) tuning->keep(key, name, found.measured);
  return true;
}

}  // namespace spire::inline kernels
