// Surveys the labels of training data: infers the number of classes, and finds labels that begin at
// -1 or 1, or that look like mistakes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/fail.h"

namespace spire {

class LabelSurvey {
 public:
  static constexpr int64_t max_classes = 1 << 20;  // inferred from labels

  // row_of: the number of a sample in its file, for messages.
  explicit LabelSurvey(std::function<int64_t(int64_t)> row_of = std::identity())
      : row_of_(std::move(row_of)) {}

  void add(std::span<const int32_t> labels);  // of the next samples

  int64_t classes() const { return std::max<int64_t>(largest_ + 1, 1); }

  // Throws Error(data), beginning with `where`, for labels that are no classes from 0 on. skips:
  // samples with negative labels are left out (data.on_error: skip). certain: advice for the
  // message how to confirm that the labels are right; empty: the user has, so large gaps are no
  // error.
  void require_classes(const std::string& where, bool skips, const std::string& certain) const;

  // Returns a note if the labels begin at 1, so that no sample has the class 0.
  std::optional<std::string> note_first(const std::string& where) const;

 private:
  int64_t second_largest() const;  // of the different labels; -1: there is none

  std::function<int64_t(int64_t)> row_of_;
  int64_t samples_ = 0, different_ = 0, negative_ = 0;
  int64_t least_ = max_classes, least_at_ = 0;
  int64_t largest_ = -1, largest_at_ = 0;
  std::vector<bool> seen_;  // by label
};

// Throws Error(data) unless each value of a sample is 0 or 1. where: names the sample.
template <typename Where>
void require_binary(const float* values, int64_t count, const Where& where) {
  const float* end = values + count;
  const float* wrong = std::find_if(values, end, [](float x) { return x != 0 && x != 1; });
  if (wrong == end) return;
  fail(
      Category::data,
      "{}: value {} is {}, but with loss.name: binary values are labels, 0 or 1; of -1 and 1 store "
      "(y + 1) / 2, of probabilities y >= 0.5, or use loss.name: mse",
      where(), wrong - values, *wrong);
}

}  // namespace spire
