// Columns of more different words than are kept.
#include "engine/data/tables/column_survey.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace spire {
namespace {

constexpr int64_t kept = 100'000, levels = 64;

void add(ColumnSurvey& survey, const std::string& text) {
  add_field(text, {}, levels, survey);
}

ColumnSurvey chosen(ColumnSurvey survey) {
  EXPECT_LE(std::ssize(survey.count), kept + 1);
  std::vector<ColumnSurvey> columns = {std::move(survey)};
  choose_forms(
      {}, false, [](size_t) { return "the column"; }, columns);
  return columns[0];
}

TEST(LongColumn, NumbersOfAnotherFormAreCountedOn) {
  ColumnSurvey survey;
  for (int i = 0; i < 250'000; ++i) add(survey, fmt::format("{},25 \u20ac", i));
  survey = chosen(std::move(survey));
  EXPECT_EQ(survey.form, FieldForm::comma);
  EXPECT_EQ(survey.unit, "\u20ac");
  EXPECT_EQ(survey.numbers, 250'000);
  EXPECT_EQ(survey.words, 0);
  EXPECT_FALSE(survey.whole);
  EXPECT_EQ(survey.different(), levels + 1);
}

// 1.234 and 1,234 both ways of the first fields leave the decision to later ones.
TEST(LongColumn, LaterFieldsDecideBetweenLikelyForms) {
  ColumnSurvey survey;
  for (int i = 0; i < 130'000; ++i) add(survey, fmt::format("{},{:03}", 1 + i / 1000, i % 1000));
  for (int i = 0; i < 10; ++i) add(survey, fmt::format("1,{:03}.5", i));
  survey = chosen(std::move(survey));
  EXPECT_EQ(survey.form, FieldForm::point);
  EXPECT_EQ(survey.numbers, 130'010);
}

TEST(LongColumn, WhereTheLikelyFormsFailTheOthersAreTried) {
  ColumnSurvey survey;
  for (int i = 0; i < 110'000; ++i) add(survey, fmt::format("name {}", i));
  for (int i = 0; i < 300'000; ++i) add(survey, fmt::format("{},5", i));
  survey = chosen(std::move(survey));
  EXPECT_EQ(survey.form, FieldForm::comma);
  EXPECT_EQ(survey.numbers, 300'000);
  EXPECT_EQ(survey.words, 110'000);
  EXPECT_NEAR(static_cast<double>(survey.different()), 110'000, 1000);
}

TEST(LongColumn, WordsOfTheirOwnForMostRowsAreFoundAsSuch) {
  ColumnSurvey names, places;
  for (int i = 0; i < 140'000; ++i) add(names, fmt::format("name {}", i));
  for (int i = 0; i < 250'000; ++i) add(places, fmt::format("place {}", i % 110'000));
  names = chosen(std::move(names));
  places = chosen(std::move(places));
  EXPECT_TRUE(has_words(names, levels) && has_words(places, levels));
  EXPECT_NEAR(static_cast<double>(names.different()), 140'000, 3'000);
  EXPECT_NEAR(static_cast<double>(places.different()), 110'000, 3'000);
  EXPECT_TRUE(marks_rows(names));
  EXPECT_FALSE(marks_rows(places));
  EXPECT_FALSE(are_nearly_numbers(names));
}

}  // namespace
}  // namespace spire
