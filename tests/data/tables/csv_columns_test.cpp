// Tables as people have them: words, empty fields, targets far from 0, columns of no use.
#include "engine/data/tables/csv_columns.h"

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/part_names.h"
#include "engine/data/tables/column_survey.h"
#include "tests/data/tables/csv_fixture.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CsvColumns : public CsvTest {};

constexpr const char* houses =
    "rooms,<1H OCEAN,price\n1,INLAND,100000.5\n,ISLAND,300000\n5,INLAND,200000\n";

TEST_F(CsvColumns, WordsBecomeAFeatureForEach) {
  DatasetPair pair = open_train(houses);
  const SampleSpec& spec = pair.train->spec();
  EXPECT_THAT(spec.feature_names, ElementsAre("rooms", "<1H OCEAN=INLAND", "<1H OCEAN=ISLAND"));
  EXPECT_EQ(spec.columns[0].shape, Shape({3}));
  EXPECT_THAT(
      spec.table,
      ElementsAre(TableColumn{.name = "rooms", .blank = 3},
                  TableColumn{.name = "<1H OCEAN", .levels = {"INLAND", "ISLAND"}, .blank = 0}));
  // 1, 3 (the mean), 5, standardized; words stay 0 and 1.
  auto one = static_cast<float>(2 / std::sqrt(8.0 / 3));
  EXPECT_THAT(read_column<float>(*pair.train, 0, {0, 1, 2}),
              ElementsAre(-one, 1, 0, 0, 0, 1, one, 1, 0));
  EXPECT_THAT(pair.notes, ElementsAre(HasAll("'rooms': 1 empty field", "count as 3")));
}

TEST_F(CsvColumns, ValuesKeepTheirUnitAndTheSpecHasTheirScale) {
  DatasetPair pair = open_train(houses);
  EXPECT_THAT(read_column<float>(*pair.train, 1, {0, 1, 2}),
              ElementsAre(100000.5f, 300000.0f, 200000.0f));
  const Normalization& scale = pair.test->spec().target_scale;
  ASSERT_EQ(scale.mean.size(), 1u);
  EXPECT_NEAR(scale.mean[0], 200000.1667, 1e-3);
  EXPECT_NEAR(scale.stddev[0], 81649.45, 0.01);
  config_.csv.scale_target = false;
  EXPECT_EQ(open_train(houses).train->spec().target_scale, Normalization());
}

TEST_F(CsvColumns, EmptyNumbersCountAsTheConfigSays) {
  // Numbers of training rows 1, 2, 6; the test row has none of its own.
  std::string train = "a,kind\n1,x\nNA,y\n2,x\n6,y\n?,x\n", test = "a,kind\n,y\n100,x\n";
  for (auto [rule, expected] : {std::pair{CsvConfig::Blanks::mean, 3.0},
                                {CsvConfig::Blanks::median, 2.0},
                                {CsvConfig::Blanks::zero, 0.0}}) {
    config_.csv.blanks = rule;
    DatasetPair pair = open_pair(train, test);
    EXPECT_THAT(pair.test->spec().table, ElementsAre(TableColumn{.name = "a", .blank = expected}));
    const Normalization& by = pair.test->spec().normalization;
    EXPECT_FLOAT_EQ(read_column<float>(*pair.test, 0, {0})[0],
                    static_cast<float>((expected - by.mean[0]) / by.stddev[0]));
  }
  config_.csv.blanks = CsvConfig::Blanks::refuse;
  EXPECT_THAT(message_of(Category::data, [&] { open_pair(train, test); }),
              HasAll("train.csv:3:1", "'a': 'NA' is empty", "data.csv.blanks"));
  config_.on_error = DataConfig::OnError::skip;
  EXPECT_EQ(open_pair(train, test).train->skipped(), 2);
}

TEST_F(CsvColumns, AnEmptyWordIsAWordIfTheTrainingRowsHaveIt) {
  EXPECT_THAT(open_train("a,c,y\n1,u,p\n2,,q\n3,v,p\n").train->spec().table[1].levels,
              ElementsAre("", "u", "v"));
  DatasetPair pair = open_pair("a,c,y\n1,u,p\n2,v,q\n", "a,c,y\n1,,p\n2,w,q\n1,u,q\n");
  EXPECT_THAT(read_column<float>(*pair.test, 0, {0, 1, 2}),
              ElementsAre(-1, 0, 0, 1, 0, 0, -1, 1, 0));
  EXPECT_THAT(pair.notes,
              ElementsAre(HasAll("2 test rows with a word in 'c'", "none of the known words")));
}

TEST_F(CsvColumns, LevelsAndNumbersAreThoseOfTheTrainingRowsAlone) {
  std::string text = "a,c,y\n";
  for (int row = 0; row < 400; ++row)
    text += fmt::format("{},{},{}\n", is_test_row(row, 0.1) ? 1000 : row % 5,
                        is_test_row(row, 0.1) ? "only_tested"
                        : row % 2             ? "u"
                                              : "v",
                        row % 3 ? "p" : "q");
  write_text(folder_ / "all.csv", text);
  config_.path = (folder_ / "all.csv").string();
  DatasetPair pair = open_dataset(config_, options_);
  EXPECT_THAT(pair.train->spec().table[1].levels, ElementsAre("u", "v"));
  EXPECT_LT(pair.train->spec().normalization.mean[0], 5);
  EXPECT_THAT(pair.notes, ElementsAre(HasSubstr("that no training row has")));
}

// In 2, 3, 4, 5more the words recur among a few whole numbers.
TEST_F(CsvColumns, NumbersAndWordsAreWordsWhereTheyRecur) {
  std::string doors = "doors,y\n", typo = doors;
  for (int row = 0; row < 40; ++row) {
    const char* kind = row % 2 ? "p" : "q";
    doors += fmt::format("{},{}\n", row % 4 == 3 ? "5more" : std::to_string(row % 4 + 2), kind);
    typo += fmt::format("{},{}\n", row == 7 ? "1o" : std::to_string(row % 4 + 2), kind);
  }
  DatasetPair pair = open_train(doors);
  EXPECT_THAT(pair.train->spec().feature_names,
              ElementsAre("doors=2", "doors=3", "doors=4", "doors=5more"));
  EXPECT_THAT(pair.notes, ElementsAre(HasSubstr("has numbers and words ('5more')")));
  EXPECT_THAT(refusal(typo), HasSubstr("train.csv:9:1: 'doors': '1o' is not a finite number"));
}

std::string with_column(const std::string& name, int rows,
                        const std::function<std::string(int)>& field) {
  std::string text = "a," + name + ",y\n";
  for (int row = 0; row < rows; ++row)
    text += fmt::format("{}.5,{},{}\n", row * 7 % 11, field(row), row % 2 ? "p" : "q");
  return text;
}

TEST_F(CsvColumns, ColumnsOfNoUseAreLeftOutWithANote) {
  std::string names = with_column("name", 30, [](int row) { return fmt::format("n{}", row); });
  std::string empty = with_column("Unnamed: 32", 30, [](int) { return ""; });
  for (const auto& [text, says] : {std::pair{names, "has a word of its own for most rows ('n0'"},
                                   {empty, "has no field that is not empty"}}) {
    DatasetPair pair = open_train(text);
    EXPECT_THAT(pair.train->spec().feature_names, ElementsAre("a"));
    EXPECT_THAT(pair.notes, ElementsAre(HasAll(says, "is left out")));
  }
  config_.csv.ignore = {};
  EXPECT_EQ(open_train(names).train->spec().feature_names.size(), 31u);
  config_.csv.ignore = {"auto"};
  EXPECT_THAT(refusal("name,y\n,p\n,q\n"), HasSubstr("no column is left as a feature"));
}

// Predictions find them by their place.
TEST_F(CsvColumns, ColumnsWithoutNamesStay) {
  std::string rows;
  for (int row = 0; row < 30; ++row)
    rows += fmt::format("{}.5,,{}\n", row * 7 % 11, row % 2 ? "p" : "q");
  EXPECT_EQ(open_train(rows).train->spec().columns[0].shape, Shape({2}));
}

TEST_F(CsvColumns, ColumnsOfManyWordsAndUnwantedOnesAreRefused) {
  std::string text = with_column("town", 60, [](int row) { return fmt::format("t{}", row % 20); });
  EXPECT_EQ(open_train(text).train->spec().feature_names.size(), 21u);
  config_.csv.max_levels = 19;
  EXPECT_THAT(refusal(text), HasAll("the column 'town' has 20 different words ('t0'",
                                    "max_levels is 19", "data.csv.ignore: [auto, 'town']"));
  config_.csv.categories = CsvConfig::Categories::refuse;
  EXPECT_THAT(refusal(text), HasSubstr("data.csv.categories: refuse does not allow"));
}

// Other data is read as a trained model was taught: its words, numbers and order of columns.
TEST_F(CsvColumns, ATrainedModelDecidesHowColumnsAreRead) {
  DatasetPair first = open_train(houses);
  options_.trained = std::make_shared<SampleSpec>(first.train->spec());
  DatasetPair other = open_train("note,<1H OCEAN,rooms,price\nhello,NEAR BAY,,7\nyou,ISLAND,5,9\n");
  const SampleSpec& spec = other.train->spec();
  EXPECT_EQ(spec.feature_names, first.train->spec().feature_names);
  EXPECT_EQ(spec.normalization, first.train->spec().normalization);
  EXPECT_EQ(spec.target_scale, first.train->spec().target_scale);
  auto one = static_cast<float>(2 / std::sqrt(8.0 / 3));
  EXPECT_THAT(read_column<float>(*other.train, 0, {0, 1}), ElementsAre(0, 0, 0, one, 0, 1));
  EXPECT_THAT(other.notes, ElementsAre(HasSubstr("in another order"), HasSubstr("1 test row")));
}

// All rows of the only file may be test rows.
TEST_F(CsvColumns, WithoutTrainingRowsThereIsNoCrash) {
  std::string text = "a,y\n";
  for (int row = 0; row < 4; ++row) text += fmt::format("{},{}\n", row, row % 2 ? "p" : "q");
  write_text(folder_ / "all.csv", text);
  config_.path = (folder_ / "all.csv").string();
  config_.csv.test_share = 1 - 1e-9;
  EXPECT_THAT(open_refusal(config_), HasSubstr("no row is left for the training"));
}

// A checkpoint from before there were tables of words refuses empty fields and words.
TEST_F(CsvColumns, OlderSpecsHaveColumnsOfNumbers) {
  SampleSpec spec = {.columns = {{"features", {2}, DType::f32}}, .feature_names = {"a", "b"}};
  EXPECT_THAT(table_columns(spec), ElementsAre(TableColumn{.name = "a"}, TableColumn{.name = "b"}));
  EXPECT_FALSE(field_value(table_columns(spec)[0], ""));
  EXPECT_FALSE(field_value(table_columns(spec)[0], "word"));
  EXPECT_EQ(field_value(table_columns(spec)[0], " 2.5"), 2.5);
}

// Columns of more different words than are kept.

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
