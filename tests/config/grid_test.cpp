// Grids over config keys: values on the command line and in files, and the order of the points.
#include "engine/config/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

struct Values {
  std::string text;
  Texts values;
  friend std::ostream& operator<<(std::ostream& out, const Values& v) { return out << v.text; }
};

class GridValues : public testing::TestWithParam<Values> {};

TEST_P(GridValues, AreSplitAtTheCommasBetweenThem) {
  EXPECT_EQ(grid_values(GetParam().text), GetParam().values);
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, GridValues,
    testing::Values(Values{"0.1,0.05", {"0.1", "0.05"}}, Values{"0.1", {"0.1"}},
                    Values{"5.0e-4, 1", {"5.0e-4", "1"}},
                    Values{"[16],[32,16]", {"[16]", "[32, 16]"}}, Values{"[64,32]", {"[64,32]"}},
                    Values{"sgd,adam", {"sgd", "adam"}}, Values{"\"a,b\"", {"\"a,b\""}},
                    Values{"a,\"b c: d\"", {"a", "\"b c: d\""}},
                    Values{"relu,{dense: {units: 3}}", {"relu", "{dense: {units: 3}}"}},
                    Values{"1,~", {"1", "null"}}, Values{"a]", {"a]"}}, Values{"", {""}}));

TEST(Grid, OfAFileHasTheSameAxes) {
  auto axes = read_grid({"g.yaml",
                         "optimizer.lr: [0.1, 5.0e-2]\nmodel.hidden: [[16], [32, 16]]\n"
                         "data.path: ['a,b', \"c\"]\n"});
  ASSERT_EQ(axes.size(), 3u);
  EXPECT_EQ(axes[0], (GridAxis{"optimizer.lr", {"0.1", "5.0e-2"}}));
  EXPECT_EQ(axes[1], (GridAxis{"model.hidden", {"[16]", "[32, 16]"}}));
  EXPECT_EQ(axes[2], (GridAxis{"data.path", {"\"a,b\"", "c"}}));
}

TEST(Grid, PointsAreAllCombinationsAndTheLastAxisIsTheFastest) {
  std::vector<GridAxis> axes = {{"optimizer.lr", {"0.1", "0.2"}}, {"seed", {"1", "2", "3"}}};
  ASSERT_EQ(grid_size(axes), 6u);
  EXPECT_THAT(grid_point(axes, 0), ElementsAre("optimizer.lr=0.1", "seed=1"));
  EXPECT_THAT(grid_point(axes, 1), ElementsAre("optimizer.lr=0.1", "seed=2"));
  EXPECT_THAT(grid_point(axes, 5), ElementsAre("optimizer.lr=0.2", "seed=3"));
}

struct BadGrid {
  std::string text, message;
  friend std::ostream& operator<<(std::ostream& out, const BadGrid& g) { return out << g.text; }
};

class BadGrids : public testing::TestWithParam<BadGrid> {};

TEST_P(BadGrids, AreRefusedWithTheirPlace) {
  auto read = [&] { read_grid({"g.yaml", GetParam().text}); };
  EXPECT_THAT(message_of(Category::config, read), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadGrids,
    testing::Values(BadGrid{"", "g.yaml:1:1: expected config keys"},
                    BadGrid{"[1, 2]", "g.yaml:1:1: expected config keys"},
                    BadGrid{"seed: 1", "g.yaml:1:7: seed: expected a list of values: seed: [A, B]"},
                    BadGrid{"seed: []", "g.yaml:1:7: seed: expected a list"},
                    BadGrid{"[a]: [1]", "g.yaml:1:1: expected a config key"},
                    BadGrid{"seed: [1", "g.yaml:1:"}));

TEST(Grid, AxesAreCheckedByTheSchema) {
  auto check = [](const GridAxis& axis) {
    return message_of(Category::config, [&] { check_axis(axis, {"output"}); });
  };
  EXPECT_THAT(check({"optimizer.lrr", {"1", "2"}}),
              HasSubstr("optimizer.lrr: unknown key; did you mean 'optimizer.lr'?"));
  EXPECT_THAT(check({"output", {"a", "b"}}), HasSubstr("output: cannot be an axis"));
  EXPECT_THAT(check({"seed", {"1", "2", "1"}}), HasSubstr("seed: 1 is there twice"));
  EXPECT_NO_THROW(check_axis({"seed", {"1", "2"}}, {"output"}));
}

}  // namespace
}  // namespace spire
