#include "engine/observe/mask_scores.h"

#include <algorithm>

namespace spire {

void count_pixels(std::span<const int32_t> mask, std::span<const float> logits,
                  std::span<ClassScore> counts) {
  for (size_t pixel = 0; pixel < mask.size(); ++pixel) {
    if (mask[pixel] < 0) continue;
    auto own = logits.subspan(pixel * counts.size(), counts.size());
    auto actual = static_cast<size_t>(mask[pixel]);
    auto found = static_cast<size_t>(std::ranges::max_element(own) - own.begin());
    ++counts[actual].actual;
    ++counts[found].predicted;
    if (actual == found) ++counts[actual].tp;
  }
}

std::optional<double> mean_iou(std::span<const ClassScore> counts) {
  double sum = 0;
  int64_t classes = 0;
  for (const ClassScore& of : counts) {
    int64_t either = of.actual + of.predicted - of.tp;
    if (either == 0) continue;
    sum += static_cast<double>(of.tp) / static_cast<double>(either);
    ++classes;
  }
  if (classes == 0) return {};
  return sum / static_cast<double>(classes);
}

std::optional<double> pixel_accuracy(std::span<const ClassScore> counts) {
  int64_t found = 0, all = 0;
  for (const ClassScore& of : counts) {
    found += of.tp;
    all += of.actual;
  }
  if (all == 0) return {};
  return static_cast<double>(found) / static_cast<double>(all);
}

}  // namespace spire
