#include "engine/data/images/mask_values.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/base/text.h"

namespace spire {

MaskValues::MaskValues(int64_t classes, int64_t ignore_label)
    : count_(classes), ignore_label_(ignore_label) {
  if (classes < 2 || classes > 255)
    fail(Category::data,
         "masks of {}: give 2 to 255; those of 0 and 255 have 2 (data.pairs.classes, or the "
         "attribute classes of an HDF5 file) and no ignore label (data.pairs.ignore_label: -1)",
         counted(classes, "class"));
  if (ignore_label >= 0 && ignore_label < classes)
    fail(Category::config,
         "data.pairs.ignore_label: {} is one of the {} classes, 0 to {}; use -1 for none, or "
         "another value",
         ignore_label, classes, classes - 1);
  classes_.fill(invalid);
  for (int64_t c = 0; c < classes; ++c) classes_[static_cast<size_t>(c)] = static_cast<int32_t>(c);
  if (ignore_label < 0 && classes == 2) classes_[255] = 1;
  auto free = std::find(classes_.rbegin(), classes_.rend(), invalid);
  outside_ = static_cast<uint8_t>(ignore_label >= 0 ? ignore_label : classes_.rend() - free - 1);
  classes_[outside_] = unlabelled;
}

void MaskValues::check(std::span<const uint8_t> mask, int64_t width) const {
  auto is_wrong = [&](uint8_t v) {
    return classes_[v] == invalid || (classes_[v] == unlabelled && v != ignore_label_);
  };
  auto wrong = std::ranges::find_if(mask, is_wrong);
  if (wrong == mask.end()) return;
  int64_t at = wrong - mask.begin();
  fail(Category::data, "pixel ({}, {}) of the mask is {}, expected a class from 0 to {}{}",
       at / width, at % width, *wrong, count_ - 1,
       ignore_label_ < 0 ? "" : fmt::format(", or {} for none", ignore_label_));
}

int64_t count_mask_classes(std::span<const uint8_t> pixels, int64_t ignore_label, int64_t so_far) {
  for (uint8_t value : pixels)
    if (int64_t{value} != ignore_label) so_far = std::max(so_far, int64_t{value} + 1);
  return so_far;
}

}  // namespace spire
