#include "engine/data/label_survey.h"

#include <algorithm>

#include "engine/base/fail.h"
#include "engine/base/text.h"

namespace spire {
namespace {

constexpr const char* renumbered = "numpy.unique(y, return_inverse=True)[1]";

}  // namespace

void LabelSurvey::add(std::span<const int32_t> labels) {
  for (int64_t label : labels) {
    int64_t at = samples_++;
    if (label < least_) least_ = label, least_at_ = at;
    if (label > largest_) largest_ = label, largest_at_ = at;
    if (label < 0) ++negative_;
    if (label < 0 || label >= max_classes) continue;
    auto place = static_cast<size_t>(label);
    if (place >= seen_.size()) seen_.resize(place + 1);
    if (!seen_[place]) ++different_;
    seen_[place] = true;
  }
}

int64_t LabelSurvey::second_largest() const {
  auto at = std::min(largest_, std::ssize(seen_)) - 1;
  while (at >= 0 && !seen_[static_cast<size_t>(at)]) --at;
  return at;
}

void LabelSurvey::require_classes(const std::string& where, bool skips,
                                  const std::string& certain) const {
  bool signs = least_ == -1 && largest_ == 1 && different_ == 1;  // no 0
  if (signs)
    fail(Category::data,
         "{}: labels begin at 0; these are -1 and 1: store (y + 1) / 2, which is 0 and 1", where);
  if (negative_ > 0 && !skips)
    fail(Category::data,
         "{}: labels begin at 0, but {} of {} are negative, the least is {} (sample {}); if these "
         "are classes, store {}; if they mark samples without a class, leave them out by "
         "data.on_error: skip",
         where, negative_, counted(samples_, "label"), least_, row_of_(least_at_), renumbered);
  if (largest_ >= max_classes)
    fail(Category::data, "{}: label {} (sample {}) is too large for a class; correct it{}, or {}",
         where, largest_, row_of_(largest_at_), fmt::format(", store {}", renumbered),
         certain.empty() ? "declare the number of classes" : certain);
  constexpr int64_t usual_classes = 100, many_classes = 1000, far = 10, sparse = 20;
  int64_t second = second_largest();
  bool outlier = largest_ > usual_classes && largest_ > far * (second + 1);
  bool gaps = largest_ > many_classes && largest_ > sparse * different_;
  if (certain.empty() || !(outlier || gaps)) return;
  fail(Category::data,
       "{}: is label {} (sample {}) right? There are {} different labels in {}, and {} the next "
       "largest; with it the model gets {} classes. Correct it; or store {}, which has no gaps; or "
       "{} if all {} are classes",
       where, largest_, row_of_(largest_at_), different_, counted(samples_, "sample"),
       second < 0 ? std::string("none is") : fmt::format("{} is", second), largest_ + 1, renumbered,
       certain, largest_ + 1);
}

std::optional<std::string> LabelSurvey::note_first(const std::string& where) const {
  if (least_ != 1 || different_ < 2) return {};
  return fmt::format(
      "{}: labels begin at 1: no sample is of class 0, which the model has, too; store y - 1 "
      "unless "
      "that is meant",
      where);
}

}  // namespace spire
