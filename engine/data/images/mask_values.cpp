#include "engine/data/images/mask_values.h"

#include <algorithm>

#include <spire/error.h>

namespace spire::inline data {

MaskValues::MaskValues(int64_t classes, int64_t ignore_label)
    : count_(classes),
      ignore_label_(ignore_label),
      outside_(static_cast<uint8_t>(std::max<int64_t>(ignore_label, 0))) {
  if (ignore_label >= 0 && ignore_label < classes)
    fail(Category::config,
         "data.pairs.ignore_label: {} is one of the {} classes, 0 to {}; use -1 for none, or "
         "another value",
         ignore_label, classes, classes - 1);
  classes_.fill(invalid);
  for (int64_t c = 0; c < classes; ++c) classes_[static_cast<size_t>(c)] = static_cast<int32_t>(c);
  if (ignore_label >= 0) classes_[static_cast<size_t>(ignore_label)] = unlabelled;
  if (ignore_label < 0 && classes == 2) classes_[255] = 1;
}

void MaskValues::check(std::span<const uint8_t> mask, int64_t width) const {
  auto wrong = std::ranges::find_if(mask, [&](uint8_t v) { return classes_[v] == invalid; });
  if (wrong == mask.end()) return;
  int64_t at = wrong - mask.begin();
  fail(Category::data, "pixel ({}, {}) of the mask is {}, expected a class from 0 to {}{}",
       at / width, at % width, *wrong, count_ - 1,
       ignore_label_ < 0 ? "" : fmt::format(", or {} for none", ignore_label_));
}

}  // namespace spire::inline data
