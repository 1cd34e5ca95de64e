// Names, paths and data with control characters: no output has them.
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/program.h"
#include "tests/tools/small_data.h"
#include "tests/tools/words.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::Not;

// Would change a window's title, go up a line and forge an error.
const std::string evil = "a\x1b]0;title\x07\x1b[1A\nerror[2]: forged";
const std::string shown = R"(a\x1b]0;title\x07\x1b[1A\x0aerror[2]: forged)";

void expect_plain(const Output& output, const Words& words) {
  for (const std::string& text : {output.out, output.err}) {
    bool plain = std::ranges::none_of(
        text, [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; });
    EXPECT_TRUE(plain) << words[0] << "\n" << text;
    EXPECT_THAT("\n" + text, Not(HasSubstr("\nerror[2]: forged"))) << words[0];
  }
}

TEST(ControlCharacters, OfPathsInErrors) {
  WorkFolder folder;
  std::string path = folder / evil;
  for (const Words& words :
       {Words{"--config", path}, Words{"data.name=csv", "data.path='" + path + "'", "--check"},
        Words{"--resume", path}, Words{"eval", "--checkpoint", path}, Words{"report", path},
        Words{"audit", path}, Words{"init", "--data", path}, Words{"--" + evil}, Words{evil + "=1"},
        Words{"seed=" + evil}, Words{"devices=[\"" + evil + "\"]"}}) {
    Output output = trainer(words);
    EXPECT_NE(output.code, 0) << words[0];
    expect_plain(output, words);
  }
  EXPECT_THAT(trainer({"report", path}).last_error_line(), HasSubstr(shown));
}

TEST(ControlCharacters, OfColumnsAndClassesInTablesAndMessages) {
  WorkFolder folder;
  std::string rows;
  for (int i = 0; i < 60; ++i)
    rows += std::to_string(i) + "," + std::to_string(i * 7 % 11) + ",\"" +
            (i % 2 == 0 ? evil : std::string("b")) + "\"\n";
  std::string file = folder.write("table.csv", "x,\"" + evil + "\",label\n" + rows);
  std::string run = folder / evil;
  Words data = {"data.name=csv", "data.path=" + file};
  Words train =
      Words{"train", "devices=cpu", "model.name=mlp", "steps=2", "batch_size=8", "--output", run} +
      data;
  Output trained = trainer(train);
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.out, HasSubstr(shown));  // the run's folder
  expect_plain(trained, train);
  for (const Words& words :
       {Words{"dataset", "inspect"} + data, Words{"dataset", "verify"} + data,
        Words{"eval", "--checkpoint", run}, Words{"report", run}, Words{"audit", run},
        Words{"compare", run, run}, train, Words{"init", "--data", file}}) {
    Output output = trainer(words);
    expect_plain(output, words);
  }
  EXPECT_THAT(trainer(Words{"dataset", "inspect"} + data).out, HasSubstr(shown));
}

}  // namespace
}  // namespace spire
