// Tables as people have them, from training to predictions: words, empty fields, values in units.
#include <cmath>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

using testing::HasSubstr;

// Rows as those of the well-known table of houses in California: words, empty fields, and prices.
std::string house(int row, bool price) {
  const char* place = row % 5 == 0 ? "<1H OCEAN" : row % 5 == 1 ? "NEAR BAY" : "INLAND";
  int rooms = row * 7 % 9 + 2;
  int value = 90000 + 15000 * rooms + (row % 5 == 0 ? 120000 : row % 5 == 1 ? 60000 : 0);
  std::string bedrooms = row % 10 == 3 ? "" : std::to_string(rooms / 2);
  std::string text = fmt::format("{},{}.5,{},{}", row, rooms, bedrooms, place);
  return text + (price ? fmt::format(",{}.5\n", value) : "\n");
}

std::string houses(int first, int rows, bool price) {
  std::string text = ",rooms,bedrooms,ocean_proximity";
  text += price ? ",price\n" : "\n";
  for (int row = first; row < first + rows; ++row) text += house(row, price);
  return text;
}

class TableRuns : public testing::Test {
 protected:
  TableRuns() { write("houses.csv", houses(0, 300, true)); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  Words table(const Words& more) const {
    return Words{"model.name=auto",
                 "data.name=csv",
                 "data.path=" + (folder_ / "houses.csv").string(),
                 "model.hidden=[16]",
                 "optimizer.name=adam",
                 "optimizer.lr=0.01"} +
           more;
  }
  Output train(const Words& more) const { return trainer(folder_.run("run", table(more))); }

  RunFolder folder_;
};

TEST_F(TableRuns, WordsAndEmptyFieldsTrainAndErrorsAreInTheUnitOfThePrices) {
  Output output = train({"epochs=20"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr("the column '' numbers the rows and is left out"));
  EXPECT_THAT(output.err, HasSubstr("'bedrooms': "));
  Json val = folder_.summary("run")["val"];
  double rmse = val["best_rmse"].get<double>(), loss = val["loss"].get<double>();
  EXPECT_GT(rmse, 100);
  EXPECT_LT(rmse, 40000);  // the prices' deviation is about 60000
  EXPECT_LT(loss, 1);      // in units of that deviation
  write("new.csv", houses(300, 4, false) + "9,5.5,,UNDER THE SEA\n");
  Output predicted = trainer(
      {"predict", "--checkpoint", (folder_ / "run").string(), (folder_ / "new.csv").string()});
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_THAT(predicted.err, HasSubstr("no row of the training data has 'UNDER THE SEA'"));
  std::istringstream lines(predicted.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "input,row,value_0");
  int rows = 0;
  for (; std::getline(lines, line); ++rows) {
    double value = std::stod(line.substr(line.rfind(',') + 1));
    EXPECT_GT(value, 60000);
    EXPECT_LT(value, 500000);
  }
  EXPECT_EQ(rows, 5);
}

TEST_F(TableRuns, ValuesAndTheirTruthReadBackAsTheSameFloats) {
  std::string text = "x,y\n";
  for (int row = 0; row < 60; ++row) text += fmt::format("{},{}.5\n", row, 1234567 + 1000 * row);
  write("houses.csv", text);
  ASSERT_EQ(train({"epochs=1"}).code, 0);
  Output predicted =
      trainer({"predict", (folder_ / "run").string(), (folder_ / "houses.csv").string()});
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  std::istringstream lines(predicted.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "input,row,value_0,truth_0");
  for (int row = 0; std::getline(lines, line); ++row) {
    size_t behind_value = line.rfind(',');
    size_t value = line.rfind(',', behind_value - 1) + 1;
    EXPECT_EQ(line.substr(behind_value + 1), fmt::format("{}.5", 1234567 + 1000 * row));
    std::string found = line.substr(value, behind_value - value);
    EXPECT_EQ(fmt::format("{}", std::stof(found)), found);
  }
}

TEST_F(TableRuns, RowsOfWhichNothingFiniteIsFoundAreRefusedOrLeftOut) {
  std::string text = "x,y\n";
  for (int row = 0; row < 60; ++row) text += fmt::format("{},{}.5\n", row % 7, row);
  write("houses.csv", text);
  ASSERT_EQ(train({"epochs=1"}).code, 0);
  write("large.csv", "x\n1\n3e38\n2\n");
  std::string large = (folder_ / "large.csv").string();
  Words words = {"predict", (folder_ / "run").string(), large};
  Output refused = trainer(words);
  EXPECT_EQ(refused.code, 7) << refused.out;
  EXPECT_THAT(
      refused.last_error_line(),
      HasSubstr("large.csv: row 1: what the model finds is not finite: its weights or the "
                "input are too large, or no numbers; correct them, or add --on-error skip"));
  Output skipped = trainer(words + Words{"--on-error", "skip"});
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  EXPECT_THAT(skipped.err, HasSubstr("row 1: what the model finds is not finite"));
  EXPECT_EQ(std::ranges::count(skipped.out, '\n'), 3);
  EXPECT_THAT(skipped.out, testing::Not(HasSubstr("nan")));
}

TEST_F(TableRuns, EndWithOneHashOnAnyDevicesAndAfterAResume) {
  for (const char* categories : {"one_hot", "embedding"}) {
    Words course = {"steps=9", "precision=bf16", "model.dropout=0.1",
                    fmt::format("data.csv.categories={}", categories)};
    SCOPED_TRACE(categories);
    expect_one_hash(folder_, table(course));
  }
}

// The file that convert writes has the words as numbers, and the prices' mean and deviation.
TEST_F(TableRuns, AsAnHdf5FileItEndsWithTheSameHash) {
  Words course = {"steps=9", "data.shuffle=full"};
  std::string hash = printed_hash(train(course));
  std::string file = (folder_ / "houses.h5").string();
  Output converted = trainer({"dataset", "convert", "data.name=csv",
                              "data.path=" + (folder_ / "houses.csv").string(), "--to", file});
  ASSERT_EQ(converted.code, 0) << converted.err;
  Output output = train(course + Words{"data.name=hdf5", "data.path=" + file, "--overwrite"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(printed_hash(output), hash);
  Output refused = trainer({"dataset", "convert", "data.name=csv", "data.csv.categories=embedding",
                            "data.path=" + (folder_ / "houses.csv").string(), "--to",
                            (folder_ / "other.h5").string()});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("data.csv.categories=one_hot"));
}

}  // namespace
}  // namespace spire
