// An own kernel beside a library's engines: one more candidate, and what is left where the library
// has none.
#pragma once
#include <functional>

#include "kernels/autotune/engine_choice.h"

namespace spire::inline kernels {

// Of own kernels, as the engine that was chosen. Kernels of other bits have another name.
inline constexpr const char* native_name = "own";
inline constexpr const char* native_mma_name = "own mma";  // attention's on tensor cores
inline bool is_native(std::string_view name) {
  return name == native_name || name == native_mma_name;
}

class EnginesAndNative : public Engines {
 public:
  // Of a run of the own kernel, as Engines::time; empty: there is no own kernel.
  using TimeNative = std::function<std::optional<float>()>;

  EnginesAndNative(Engines& library, TimeNative time_native, std::string name = native_name)
      : library_(library), time_native_(std::move(time_native)), name_(std::move(name)) {}

  bool recall(const std::string& name) override;
  // The library's come first: where nothing is measured, its favourite is taken.
  size_t propose(size_t most) override;
  std::optional<float> time(size_t index) override;
  std::string settle(size_t index) override;

  bool is_native() const { return is_native_; }  // what was settled on

 private:
  Engines& library_;
  TimeNative time_native_;
  std::string name_;
  size_t of_library_ = 0;
  bool is_native_ = false;
};

}  // namespace spire::inline kernels
