#include "engine/weights/files/finite_tensors.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <spire/error.h>
#include <spire/text.h>

namespace spire::inline weights {

FiniteTensors::FiniteTensors(std::filesystem::path path, std::shared_ptr<const SavedTensors> saved)
    : path_(std::move(path)), saved_(std::move(saved)) {}

void FiniteTensors::read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const {
  saved_->read(group, tensor, begin, out);
  auto bad = std::ranges::find_if(out, [](float value) { return !std::isfinite(value); });
  if (bad == out.end()) return;
  fail(Category::checkpoint,
       "{}: {} has a number that is not finite: element {} is {}; take weights from before the run "
       "that wrote them diverged",
       path_.string(), printable(groups()[group].tensors[tensor].name), begin + (bad - out.begin()),
       unsigned_nan(static_cast<double>(*bad)));
}

}  // namespace spire::inline weights
