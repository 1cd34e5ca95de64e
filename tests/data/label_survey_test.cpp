// Labels that are no classes from 0 on, by themselves and in the sources that count classes.
#include "engine/data/label_survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::HasSubstr;

LabelSurvey survey_of(const std::vector<int32_t>& labels) {
  LabelSurvey survey;
  survey.add(labels);
  return survey;
}

std::string refusal(const std::vector<int32_t>& labels, bool skips = false) {
  return message_of(Category::data, [&] {
    survey_of(labels).require_classes("y.npy", skips, "set data.npy.task: class");
  });
}

void accept(const std::vector<int32_t>& labels, bool skips = false) {
  EXPECT_NO_THROW(survey_of(labels).require_classes("y.npy", skips, "set the task"));
}

TEST(LabelSurvey, MinusOneAndOneAreTwoClasses) {
  for (bool skips : {false, true})  // skipping would leave out a whole class
    EXPECT_THAT(refusal({-1, 1, 1, -1}, skips),
                HasAll("y.npy: labels begin at 0; these are -1 and 1", "store (y + 1) / 2"));
}

TEST(LabelSurvey, OtherNegativeLabelsMayMarkSamplesWithoutAClass) {
  EXPECT_THAT(refusal({0, 1, -1, 2, -3}),
              HasAll("2 of 5 labels are negative, the least is -3 (sample 4)", "numpy.unique",
                     "data.on_error: skip"));
  accept({0, 1, -1, 2}, true);
}

TEST(LabelSurvey, OneLargeLabelAmongFewIsAskedFor) {
  EXPECT_THAT(refusal({0, 1, 2, 900000, 1}),
              HasAll("is label 900000 (sample 3) right?", "4 different labels", "900001 classes",
                     "set data.npy.task: class"));
  EXPECT_THAT(refusal({0, 500, 1000, 2000, 9000, 20000}), HasSubstr("is label 20000"));
  EXPECT_THAT(refusal({0, 1 << 20}), HasSubstr("too large for a class"));
  accept({0, 1, 2, 99});
  accept({3, 50, 400, 999});                                      // some of ImageNet's classes
  survey_of({0, 1, 900000}).require_classes("y.npy", false, "");  // the user said so
  EXPECT_EQ(survey_of({0, 1, 900000}).classes(), 900001);
}

TEST(LabelSurvey, LabelsFromOneAreNoted) {
  EXPECT_THAT(survey_of({1, 2, 3}).note_first("y.npy").value(),
              HasAll("labels begin at 1", "store y - 1"));
  EXPECT_FALSE(survey_of({0, 2, 3}).note_first("y.npy"));
  EXPECT_FALSE(survey_of({1, 1}).note_first("y.npy"));
}

}  // namespace
}  // namespace spire
