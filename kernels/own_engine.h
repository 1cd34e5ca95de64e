// An own kernel beside a library's engines: one more candidate, and what is left where the library
// has none.
#pragma once
#include <spire/kernels/engine_choice.h>

#include <functional>

namespace spire {

// Of own kernels, as the engine that was chosen. Kernels of other bits have another name.
inline constexpr const char* own_name = "own";
inline constexpr const char* own_mma_name = "own mma";  // attention's on tensor cores
inline bool is_own(std::string_view name) {
  return name == own_name || name == own_mma_name;
}

class EnginesAndOwn : public Engines {
 public:
  // Of a run of the own kernel, as Engines::time; empty: there is no own kernel.
  using TimeOwn = std::function<std::optional<float>()>;

  EnginesAndOwn(Engines& library, TimeOwn time_own, std::string name = own_name)
      : library_(library), time_own_(std::move(time_own)), name_(std::move(name)) {}

  bool recall(const std::string& name) override;
  // The library's come first: where nothing is measured, its favourite is taken.
  size_t propose(size_t most) override;
  std::optional<float> time(size_t index) override;
  std::string settle(size_t index) override;

  bool is_own() const { return is_own_; }  // what was settled on

 private:
  Engines& library_;
  TimeOwn time_own_;
  std::string name_;
  size_t of_library_ = 0;
  bool is_own_ = false;
};

}  // namespace spire
