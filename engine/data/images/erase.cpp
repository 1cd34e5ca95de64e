#include "engine/data/images/erase.h"

#include <cmath>

#include <spire/random_stream.h>

namespace spire::inline data {

Rectangle erased_rectangle(const EraseConfig& config, ImageSize size, uint64_t seed, int64_t epoch,
                           int64_t sample) {
  const RandomStream draws(seed, Purpose::erase, static_cast<uint64_t>(epoch),
                           static_cast<uint64_t>(sample));
  if (!(draws.uniform(0) < config.probability)) return {};
  constexpr uint64_t attempts = 10, draws_per_attempt = 4;
  constexpr double min_ratio = 0.3, max_ratio = 3.3;  // of height to width
  auto area = static_cast<double>(size.height * size.width);
  double shares = config.max_share - config.min_share;
  for (uint64_t i = 1; i < 1 + attempts * draws_per_attempt; i += draws_per_attempt) {
    double erased = area * (config.min_share + shares * draws.uniform(i));
    double ratio = min_ratio * std::pow(max_ratio / min_ratio, double{draws.uniform(i + 1)});
    int64_t height = std::lround(std::sqrt(erased * ratio));
    int64_t width = std::lround(std::sqrt(erased / ratio));
    if (height < 1 || width < 1 || height >= size.height || width >= size.width) continue;
    return {.top = draws.below(i + 2, static_cast<uint32_t>(size.height - height + 1)),
            .left = draws.below(i + 3, static_cast<uint32_t>(size.width - width + 1)),
            .height = height,
            .width = width};
  }
  return {};
}

}  // namespace spire::inline data
