// CSV files as datasets: inference of columns and task, malformed rows, split.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/dataset_table.h"
#include "engine/data/part_names.h"
#include "tests/data/tables/csv_fixture.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CsvDatasetTest : public CsvTest {
 protected:
  std::string place(const std::string& where) const {
    return (folder_ / "train.csv").string() + ":" + where;
  }
};

TEST_F(CsvDatasetTest, WordsAreClassesAndFeaturesAreStandardized) {
  DatasetPair pair = open_pair("width,height,kind\n1,10,rose\n3,10,iris\n5,10,rose\n",
                               "width,height,kind\n7,12,iris\n");
  const SampleSpec& spec = pair.test->spec();
  EXPECT_THAT(spec.columns,
              ElementsAre(Column{"features", {2}, DType::f32}, Column{"labels", {}, DType::i32}));
  EXPECT_EQ(spec.classes, 2);
  EXPECT_THAT(spec.class_names, ElementsAre("iris", "rose"));
  EXPECT_THAT(spec.feature_names, ElementsAre("width", "height"));
  EXPECT_THAT(read_column<int32_t>(*pair.train, 1, {0, 1, 2}), ElementsAre(1, 0, 1));
  double deviation = std::sqrt(8.0 / 3);
  EXPECT_DOUBLE_EQ(spec.normalization.mean[0], 3);
  EXPECT_DOUBLE_EQ(spec.normalization.stddev[0], deviation);
  EXPECT_EQ(spec.normalization.stddev[1], 1);  // of a constant
  auto unit = static_cast<float>(2 / deviation);
  EXPECT_THAT(read_column<float>(*pair.train, 0, {2, 1, 0}), ElementsAre(unit, 0, 0, 0, -unit, 0));
  EXPECT_THAT(read_column<float>(*pair.test, 0, {0}),
              ElementsAre(static_cast<float>(4 / deviation), 2));
}

TEST_F(CsvDatasetTest, FractionsAreValues) {
  options_.dtype = DType::bf16;
  config_.csv.target = "0";
  DatasetPair pair = open_train("1.5;0;2\n-1e3;1;0\n.25;1;+7\n");
  EXPECT_THAT(pair.train->spec().columns,
              ElementsAre(Column{"features", {2}, DType::bf16}, Column{"values", {1}, DType::f32}));
  EXPECT_EQ(pair.train->spec().classes, 0);
  EXPECT_THAT(pair.train->spec().feature_names, IsEmpty());
  EXPECT_THAT(read_column<float>(*pair.train, 1, {0, 1, 2}), ElementsAre(1.5, -1000, 0.25));
  auto features = read_column<bfloat16>(*pair.train, 0, {0});
  double mean = 3, deviation = std::sqrt(26.0 / 3);  // of 2, 0, 7
  EXPECT_EQ(features[1].bits, bfloat16(static_cast<float>((2 - mean) / deviation)).bits);
}

TEST_F(CsvDatasetTest, WholeNumbersAreClassesInTheirOrder) {
  DatasetPair pair = open_train("x,y\n0,10\n1,9\n2,-1\n3,9.0\n4,010\n");
  EXPECT_THAT(pair.train->spec().class_names, ElementsAre("-1", "9", "10"));
  EXPECT_THAT(read_column<int32_t>(*pair.train, 1, {0, 1, 2, 3, 4}), ElementsAre(2, 1, 0, 1, 2));
}

TEST_F(CsvDatasetTest, OverAHundredWholeNumbersAreValuesUnlessTheTaskSaysOtherwise) {
  std::string text = "x,y\n";
  for (int i = 0; i < 101; ++i) text += "1," + std::to_string(i) + "\n";
  EXPECT_EQ(open_train(text).train->spec().columns[1].name, "values");
  config_.csv.task = TargetKind::classes;
  EXPECT_EQ(open_train(text).train->spec().classes, 101);
  config_.csv.task = TargetKind::values;
  EXPECT_EQ(open_train("x,y\n1,2\n1,3\n").train->spec().columns[1].name, "values");
}

TEST_F(CsvDatasetTest, TheTargetIsNamedOrCounted) {
  const char* text = "a,b,c\n1,2,0\n3,4,1\n";
  config_.csv.target = "b";
  EXPECT_THAT(open_train(text).train->spec().feature_names, ElementsAre("a", "c"));
  config_.csv.target = "0";
  EXPECT_THAT(open_train(text).train->spec().feature_names, ElementsAre("b", "c"));
  config_.csv.target = "bb";
  EXPECT_THAT(refusal(text, Category::config),
              HasAll("data.csv.target", "no column 'bb'", "did you mean 'b'", "a, b, c"));
  config_.csv.target = "3";
  EXPECT_THAT(refusal("1,2,0\n3,4,1\n", Category::config), HasSubstr("use 0 to 2"));
}

TEST_F(CsvDatasetTest, AHeaderOfNumbersNeedsTheKey) {
  const char* text = "1985,1986\n1,2\n2,3\n";
  EXPECT_EQ(open_train(text).train->count(), 3);
  config_.csv.header = CsvConfig::Header::yes;
  DatasetPair pair = open_train(text);
  EXPECT_EQ(pair.train->count(), 2);
  EXPECT_THAT(pair.train->spec().feature_names, ElementsAre("1985"));
  config_.csv.header = CsvConfig::Header::no;
  EXPECT_THAT(refusal("x,y\n1,2\n"), HasSubstr(place("1:1: column 0 (from 0): 'x' is not")));
}

TEST_F(CsvDatasetTest, AHeaderMayLackOneName) {
  EXPECT_THAT(open_train(",a,b\n0.5,1,x\n1.5,2,y\n").train->spec().feature_names,
              ElementsAre("", "a"));
  EXPECT_THAT(refusal(",,b\n0,1,x\n1,2,y\n"),
              HasSubstr(place("1:1: the first row has no number, but several empty fields")));
}

// Returns a table of a column `name` with number(row), a feature and a class.
template <typename Number>
std::string numbered_table(const std::string& name, int rows, const Number& number) {
  std::string text = name + ",x,kind\n";
  for (int row = 0; row < rows; ++row)
    text += fmt::format("{},{}.5,{}\n", number(row), row * 7 % 11, row % 2 ? "yes" : "no");
  return text;
}

TEST_F(CsvDatasetTest, RowNumbersAreIgnoredWithANote) {
  auto from_zero = [](int row) { return row; };
  auto from_one = [](int row) { return row + 1; };
  auto shuffled = [](int row) { return 1000 + row * 7 % 30; };
  for (const char* name : {"", "id", "ID", "index", "Unnamed: 0", "row_id", "rownames"})
    for (auto number : {+from_zero, +from_one, +shuffled}) {
      config_.csv.ignore = {"auto"};
      std::string text = numbered_table(name, 30, number);
      DatasetPair pair = open_train(text);
      EXPECT_THAT(pair.train->spec().feature_names, ElementsAre("x")) << name;
      EXPECT_THAT(pair.notes, ElementsAre(HasAll(fmt::format("column '{}'", name), "left out",
                                                 "data.csv.ignore: []")));
      EXPECT_EQ(pair.train->spec().columns[0].shape, Shape({1}));
      EXPECT_NEAR(read_column<float>(*pair.train, 0, {0})[0], -1.5, 0.1);
      config_.csv.ignore = {};
      EXPECT_THAT(open_train(text).train->spec().feature_names, ElementsAre(name, "x"));
    }
}

TEST_F(CsvDatasetTest, ColumnsThatResembleRowNumbersStay) {
  auto with = [&](const char* name, auto number) {
    return open_train(numbered_table(name, 30, number));
  };
  for (const char* name : {"time", "width"}) {  // kept, with a note
    DatasetPair pair = with(name, [](int row) { return row; });
    EXPECT_THAT(pair.train->spec().feature_names, ElementsAre(name, "x"));
    EXPECT_THAT(pair.notes, ElementsAre(HasSubstr(fmt::format("ignore: [auto, '{}']", name))));
  }
  for (const char* name : {"id", ""}) {
    EXPECT_EQ(with(name, [](int row) { return row / 2; }).train->spec().feature_names.size(), 2u);
    DatasetPair pair = with(name, [](int row) { return row + 0.5; });
    EXPECT_EQ(pair.train->spec().feature_names.size(), 2u);
    EXPECT_THAT(pair.notes, IsEmpty());
  }
}

TEST_F(CsvDatasetTest, RejectedRowsCountAsRows) {
  config_.on_error = DataConfig::OnError::skip;
  std::string text = numbered_table("n", 30, [](int row) { return row; });
  text.replace(text.find("\n9,"), 4, "\n9,oops");
  EXPECT_THAT(open_train(text).notes, ElementsAre(HasSubstr("counts the rows")));
}

TEST_F(CsvDatasetTest, ColumnsAreIgnoredByNameOrNumber) {
  const char* text = "a,name,b,kind\n1,Ann,3,x\n2,Bob,5,y\n";
  EXPECT_THAT(open_train(text).train->spec().feature_names,
              ElementsAre("a", "name=Ann", "name=Bob", "b"));
  for (const char* word : {"name", "1"}) {
    config_.csv.ignore = {word};
    EXPECT_THAT(open_train(text).train->spec().feature_names, ElementsAre("a", "b"));
  }
  for (auto [ignored, says] : {std::pair{"nam", "did you mean 'name'"},
                               {"9", "no column '9'"},
                               {"kind", "'kind' is the target"}}) {
    config_.csv.ignore = {ignored};
    EXPECT_THAT(refusal(text, Category::config), HasAll("ignore", says));
  }
  config_.csv.ignore = {"a", "b", "name"};
  EXPECT_THAT(refusal(text, Category::config), HasSubstr("no column as a feature"));
  config_.csv.ignore = {"auto"};
  EXPECT_THAT(refusal("id,kind\n1,x\n2,y\n"), HasSubstr("there is no other feature"));
}

// Returns 60 rows whose targets are decimals, except for row `at`.
std::string decimals_but(const std::string& odd, int at = 23) {
  std::string text = "x,price\n";
  for (int row = 0; row < 60; ++row)
    text += fmt::format("{}.5,{}\n", row, row == at ? odd : fmt::format("{}.25", row * 3));
  return text;
}

TEST_F(CsvDatasetTest, AWordAmongNumericTargetsIsRefused) {
  for (const char* odd : {"NA", "n/a", "?", "-", "unknown", "1,5x", "nan", "inf", "12 EUR"}) {
    if (std::string(odd).find(',') != std::string::npos) continue;
    EXPECT_THAT(refusal(decimals_but(odd)),
                HasAll(place("25:6: the target '"), odd,
                       "' is not a number, but 59 of 60 rows have numbers", "data.csv.task: value",
                       "data.on_error: skip"));
  }
  // A word among few whole numbers, and a number among words.
  EXPECT_THAT(refusal("x,y\n1,0\n2,1\n3,NA\n4,0\n"), HasSubstr(place("4:3: the target 'NA'")));
  EXPECT_THAT(refusal("x,y\n1,a\n2,b\n3,7\n4,a\n"),
              HasAll(place("4:3: the target '7' is a number"), "3 of 4 rows"));
  config_.csv.task = TargetKind::classes;
  EXPECT_EQ(open_train("x,y\n1,a\n2,b\n3,7\n4,a\n").train->spec().classes, 3);
  config_.csv.task = TargetKind::values;
  config_.on_error = DataConfig::OnError::skip;
  DatasetPair pair = open_train(decimals_but("NA"));
  EXPECT_EQ(pair.train->spec().columns[1].name, "values");
  EXPECT_EQ(pair.train->count(), 59);
}

TEST_F(CsvDatasetTest, ClassesOfOneRowEachAreRefused) {
  std::string numbers = "x,y\n", words = numbers;
  for (int row = 0; row < 60; ++row) {
    numbers += fmt::format("{}.5,{}\n", row, 20 + row);
    words += fmt::format("{}.5,name{}\n", row, row);
  }
  for (const std::string& text : {numbers, words}) {
    EXPECT_THAT(refusal(text),
                HasAll("60 different targets in 60 rows", "data.csv.task: class or value"));
    config_.csv.task = TargetKind::classes;
    EXPECT_EQ(open_train(text).train->spec().classes, 60);
    config_.csv.task = TargetKind::automatic;
  }
}

TEST_F(CsvDatasetTest, AClassForMissingValuesIsNoted) {
  EXPECT_THAT(open_train("x,y\n1,cat\n2,NA\n3,dog\n").notes,
              ElementsAre(HasSubstr("the target 'NA' is taken for a class")));
}

TEST_F(CsvDatasetTest, OneFileIsSplitByAHashOfTheRow) {
  std::string text = "x,y\n";
  for (int i = 0; i < 2000; ++i) text += std::to_string(i) + ".5," + std::to_string(i % 7) + "\n";
  write_text(folder_ / "all.csv", text);
  config_.path = (folder_ / "all.csv").string();
  config_.csv.test_share = 0.25;
  DatasetPair pair = open_dataset(config_, options_);
  EXPECT_EQ(pair.train->count() + pair.test->count(), 2000);
  EXPECT_NEAR(static_cast<double>(pair.test->count()), 500, 60);  // 3 deviations of a binomial
  const Normalization& normalization = pair.train->spec().normalization;
  std::vector<int64_t> rows;
  for (int64_t sample = 0; sample < pair.test->count(); ++sample) {
    double x = read_column<float>(*pair.test, 0, {sample})[0] * normalization.stddev[0] +
               normalization.mean[0];
    rows.push_back(std::lround(x - 0.5));
  }
  for (int64_t row = 0; row < 2000; ++row)
    EXPECT_EQ(is_test_row(row, 0.25), std::ranges::count(rows, row) == 1) << row;
  // A larger share keeps all test rows of a smaller one.
  for (int64_t row = 0; row < 2000; ++row) EXPECT_LE(is_test_row(row, 0.25), is_test_row(row, 0.5));
  EXPECT_NE(is_test_row(0, 0.5) + is_test_row(1, 0.5) + is_test_row(2, 0.5) + is_test_row(3, 0.5),
            0);
}

TEST_F(CsvDatasetTest, AFolderWithoutTestFileIsSplit) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + ",word" + std::to_string(i % 2) + "\n";
  write_file(folder_ / "train.csv.gz", gzip(Bytes(text.begin(), text.end())));
  config_.path = folder_.path().string();
  DatasetPair pair = open_dataset(config_, options_);
  EXPECT_EQ(pair.train->count() + pair.test->count(), 100);
  EXPECT_GE(pair.test->count(), 1);
}

struct MalformedRow {
  const char* row;  // the third of the file
  const char* place;
  const char* says;
};

const std::vector<MalformedRow> malformed_rows = {
    {"1,two,no", "3:3", "'b': 'two' is not a finite number"},
    {"1,-inf,no", "3:3", "'-inf' is not a finite number"},
    {"1,1e999,no", "3:3", "'1e999' is not a finite number"},
    {"1,2 3,no", "3:3", "'2 3' is not a finite number"},
    {"1,0x10,no", "3:3", "'0x10' is not a finite number"},
    {"1,no", "3:3", "2 fields, expected 3"},
    {"1,2,3,no", "3:7", "4 fields, expected 3"},
    {"1,2, ", "3:5", "'c': the target is empty"},
    {"1,2,n\"o", "3:6", "a quote inside"},
};

TEST_F(CsvDatasetTest, MalformedRowsStopTheRunOrAreSkippedAndCounted) {
  const std::string good = "a,b,c\n1,2,no\n";
  for (const MalformedRow& bad : malformed_rows) {
    std::string text = good + bad.row + "\n3,5,yes\n4,4,no\n";
    config_.on_error = DataConfig::OnError::stop;
    EXPECT_THAT(refusal(text), HasAll(place(bad.place), bad.says, "data.on_error: skip"));
    config_.on_error = DataConfig::OnError::skip;
    DatasetPair pair = open_pair(text, good + "1,1,yes\n");
    EXPECT_EQ(pair.train->count(), 3);
    EXPECT_EQ(pair.train->skipped(), 1);
    EXPECT_THAT(pair.train->first_problem(), HasAll(place(bad.place), bad.says));
    EXPECT_EQ(pair.test->skipped(), 0);
    EXPECT_EQ(pair.test->first_problem(), "");
    EXPECT_DOUBLE_EQ(pair.train->spec().normalization.mean[0], 8.0 / 3);  // without it
    EXPECT_THAT(read_column<int32_t>(*pair.train, 1, {0, 1, 2}), ElementsAre(0, 1, 0));
  }
}

TEST_F(CsvDatasetTest, TestTargetsMustBeAmongTheTrainingClasses) {
  auto open_it = [&] { return open_pair("1,yes\n2,no\n", "1,yes\n\n1,perhaps\n"); };
  EXPECT_THAT(message_of(Category::data, open_it), HasAll((folder_ / "test.csv").string() + ":3:3",
                                                          "'perhaps' is not one of the 2 classes"));
  config_.on_error = DataConfig::OnError::skip;
  DatasetPair pair = open_it();
  EXPECT_EQ(pair.test->count(), 1);
  EXPECT_EQ(pair.test->skipped(), 1);
  EXPECT_EQ(pair.train->skipped(), 0);
}

TEST_F(CsvDatasetTest, ValuesMustBeNumbersWithinFp32) {
  config_.csv.task = TargetKind::values;
  EXPECT_THAT(refusal("1,2\n3,many\n"), HasSubstr(place("2:3: the target 'many'")));
  EXPECT_THAT(refusal("1,2\n3,1e39\n"),
              HasSubstr(place("2:3: the target '1e39' is too large: numbers end at 3.4e+38")));
}

// Also where the other rows are so far apart that, standardized, it would be finite.
TEST_F(CsvDatasetTest, FeaturesMustBeNumbersWithinFp32) {
  EXPECT_THAT(refusal("a,b,c\n1,1,no\n2,-1e39,yes\n3,2,no\n"),
              HasSubstr(place("3:3: 'b': '-1e39' is too large: numbers end at 3.4e+38")));
  EXPECT_THAT(refusal("1e308,a\n-1e308,b\n"), HasSubstr(place("1:1: column 0 (from 0): '1e308'")));
  config_.on_error = DataConfig::OnError::skip;
  DatasetPair pair = open_pair("1,a\n1e39,b\n2,b\n", "1,a\n-1e39,b\n");
  EXPECT_EQ(pair.train->skipped(), 1);
  EXPECT_EQ(pair.test->skipped(), 1);
  EXPECT_DOUBLE_EQ(pair.train->spec().normalization.mean[0], 1.5);
}

TEST_F(CsvDatasetTest, FeaturesMustBeFiniteWhenStandardized) {
  std::string train = "x,y\n1,a\n2,b\n3,a\n", test = "x,y\n1,a\n3e38,b\n";
  EXPECT_THAT(
      message_of(Category::data, [&] { open_pair(train, test); }),
      HasSubstr("test.csv:3:1: 'x': 3e+38 is too large: standardized by the training rows"));
  config_.on_error = DataConfig::OnError::skip;
  DatasetPair pair = open_pair(train, test);
  EXPECT_EQ(pair.test->count(), 1);
  EXPECT_EQ(pair.test->skipped(), 1);
}

TEST_F(CsvDatasetTest, TargetsThatFp32HardlyTellsApartAreRefusedOrWarnedOf) {
  auto table = [](double offset, int step) {
    std::string text = "x,y\n";
    for (int i = 0; i < 200; ++i) text += fmt::format("{},{}\n", i % 9, offset + i % 3 * step);
    return text;
  };
  config_.csv.task = TargetKind::values;
  EXPECT_THAT(
      refusal(table(1e9, 1)),
      HasSubstr("the target 'y' lies near 1e+09, where fp32 has steps of 64, and differs by "
                "only 0.8"));
  auto notes_of_steps = [&](double offset, int step) {
    return std::ranges::count_if(open_train(table(offset, step)).notes, [](const auto& note) {
      return note.find("fp32 has steps") != note.npos;
    });
  };
  EXPECT_EQ(notes_of_steps(1e9, 1000), 1);
  EXPECT_EQ(notes_of_steps(1e9, 1000000), 0);
  EXPECT_EQ(notes_of_steps(0, 1), 0);
  EXPECT_EQ(notes_of_steps(1e9, 0), 0);  // a constant
}

TEST_F(CsvDatasetTest, UnusableFilesAreRefused) {
  EXPECT_THAT(refusal(""), HasSubstr("contains no rows"));
  EXPECT_THAT(refusal("a,b\n"), HasSubstr("contains no good row"));
  EXPECT_THAT(refusal("1\n2\n"), HasSubstr("there is only one column"));
  EXPECT_THAT(refusal("1,a\n2,a\n"), HasSubstr("all rows are of the class 'a'"));
  EXPECT_THAT(message_of(Category::data, [&] { open_pair("a,b\n1,x\n2,y\n", "a,c\n1,x\n"); }),
              HasAll("test.csv:1:1", "a, c", "a, b"));
  config_.on_error = DataConfig::OnError::skip;
  EXPECT_THAT(refusal("x,b\n1,\n2,\n"), HasAll("2 were skipped", "train.csv:2:3"));
}

TEST_F(CsvDatasetTest, NeedsAPathAndRowsForBothSplits) {
  config_.path = (folder_ / "none.csv").string();
  EXPECT_THAT(open_refusal(config_), HasSubstr("no such file"));
  write_text(folder_ / "two.csv", "1,a\n2,b\n");
  config_.path = (folder_ / "two.csv").string();
  config_.csv.test_share = 1e-9;
  EXPECT_THAT(open_refusal(config_), HasSubstr("no row is left for the test"));
}

}  // namespace
}  // namespace spire
