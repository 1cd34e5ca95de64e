// A checkpoint and data whose classes or columns have other names, or another order, than those it
// was trained on.
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/images/png.h"
#include "tests/tools/small_data.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

// Returns the text after a name on its line: "test_accuracy 0.9750".
std::string figures(const Output& output) {
  return line_value(output.out, "test_loss") + " " + line_value(output.out, "test_accuracy");
}

// Outputs of the three commands for a run's checkpoint and the data that `words` name.
struct Answers {
  Output eval, resumed, predicted;
};

Answers ask_all(const std::string& run, const Words& words) {
  return {trainer(Words{"eval", "output=" + run} + words),
          trainer(Words{"--resume", "auto", "steps=40", "output=" + run} + words),
          trainer(Words{"predict", "--checkpoint", run} + words)};
}

void expect_refused(const Answers& answers, const std::string& what) {
  for (const Output& output : {answers.eval, answers.resumed, answers.predicted})
    expect_error(4, output, what);
}

// The colour is the class; its shade is noise.
void write_class_images(const fs::path& folder, const Words& classes, int count) {
  for (size_t label = 0; label < classes.size(); ++label) {
    fs::create_directories(folder / classes[label]);
    for (int i = 0; i < count; ++i) {
      PngImage image{8, 8, 3, {}};
      for (int p = 0; p < 64; ++p)
        for (size_t c = 0; c < 3; ++c)
          image.pixels.push_back(static_cast<uint8_t>((c == label ? 200 : 20) + (i * 7 + p) % 40));
      write_png(folder / classes[label] / fmt::format("{:02d}.png", i), image);
    }
  }
}

TEST(OtherData, ARenamedFolderOfImagesIsRefused) {
  WorkFolder folder;
  fs::path data = folder / "data";
  for (const char* half : {"train", "val"})
    write_class_images(data / half, {"boot", "coat", "dog"}, 8);
  Words words = {"data.name=image_folder", "data.path=" + data.string(),
                 "data.image.size=8",      "model.name=linear",
                 "batch_size=8",           "devices=cpu",
                 "tower_threads=1",        "optimizer.lr=0.01"};
  std::string run = folder / "run";
  ASSERT_EQ(trainer(words + Words{"steps=20", "output=" + run}).code, 0);
  for (const char* half : {"train", "val"})
    fs::rename(data / half / "coat", data / half / "jacket");
  expect_refused(ask_all(run, words), "only in the data: 'jacket'; only in the checkpoint: 'coat'");
  // The order changes, too: 'coat' was second, 'ant' is first.
  for (const char* half : {"train", "val"}) fs::rename(data / half / "jacket", data / half / "ant");
  expect_refused(ask_all(run, words), "the data has 'ant', 'boot', 'dog' (3)");
  for (const char* half : {"train", "val"}) fs::rename(data / half / "ant", data / half / "coat");
  Answers answers = ask_all(run, words);
  for (const Output& output : {answers.eval, answers.resumed, answers.predicted})
    expect_success(output);
  EXPECT_THAT(answers.eval.err, Not(HasSubstr("matched by name")));
}

// Columns in the order of `names`, of width, height, depth and kind.
std::string table(const Words& names, int rows) {
  std::string text = fmt::format("{}\n", fmt::join(names, ","));
  for (int i = 0; i < rows; ++i) {
    for (const std::string& name : names) {
      int number = name == "width" ? i % 3 * 5 + i % 7 : name == "height" ? i % 5 : i % 11;
      text += name == "kind" ? std::string(i % 3 == 0   ? "iris"
                                           : i % 3 == 1 ? "rose"
                                                        : "lily")
                             : fmt::format("{}.5", number);
      text += name == names.back() ? "\n" : ",";
    }
  }
  return text;
}

TEST(OtherData, ColumnsInAnotherOrderAreFoundByName) {
  WorkFolder folder;
  std::string path = folder.write("plants.csv", table({"width", "height", "depth", "kind"}, 120));
  Words words = {"data.name=csv",    "data.path=" + path, "data.csv.target=kind", "model.name=mlp",
                 "model.hidden=[8]", "batch_size=16",     "tower_threads=1",      "devices=cpu"};
  std::string run = folder / "run";
  ASSERT_EQ(trainer(words + Words{"steps=30", "output=" + run}).code, 0);
  Answers first = ask_all(run, words);
  fs::remove_all(run);
  ASSERT_EQ(trainer(words + Words{"steps=30", "output=" + run}).code, 0);
  folder.write("plants.csv", table({"kind", "depth", "width", "height"}, 120));
  Answers second = ask_all(run, words);
  EXPECT_EQ(second.eval.code, 0) << second.eval.err;
  EXPECT_THAT(second.eval.err, HasSubstr("the columns are in another order"));
  EXPECT_EQ(figures(second.eval), figures(first.eval));
  EXPECT_EQ(printed_hash(second.resumed), printed_hash(first.resumed)) << second.resumed.err;
  EXPECT_EQ(second.predicted.out, first.predicted.out);
  folder.write("plants.csv", table({"kind", "depth", "girth", "height"}, 120));
  expect_refused(ask_all(run, words), "only in the data: 'girth'; only in the checkpoint: 'width'");
  folder.write("plants.csv", table({"kind", "depth", "height"}, 120));
  expect_refused(ask_all(run, words), "only in the checkpoint: 'width'");
}

// All ranks receive the description of the data from the checkpoint.
TEST(OtherData, EveryProcessOfARunFindsColumnsByName) {
  WorkFolder folder;
  std::string path = folder.write("plants.csv", table({"width", "height", "depth", "kind"}, 120));
  Words words = {"data.name=csv",   "data.path=" + path, "data.csv.target=kind",
                 "model.name=mlp",  "batch_size=8",      "towers=2",
                 "tower_threads=1", "devices=cpu",       "model.hidden=[8]"};
  auto hash_of = [&](const std::string& name, bool moved) {
    std::string run = folder / name;
    folder.write("plants.csv", table({"width", "height", "depth", "kind"}, 120));
    expect_success(trainer(words + Words{"steps=10", "output=" + run}));
    if (moved) folder.write("plants.csv", table({"depth", "kind", "height", "width"}, 120));
    return printed_hash(trainer(
        words + Words{"--resume", "auto", "steps=20", "--processes", "2", "output=" + run}));
  };
  EXPECT_EQ(hash_of("straight", false), hash_of("moved", true));
}

TEST(OtherData, TextWithOtherCharactersIsRefused) {
  WorkFolder folder;
  std::string text;
  for (int i = 0; i < 200; ++i) text += "the cat sat on a mat. ";
  std::string path = folder.write("text.txt", text);
  Words words = {"data={name: tokens, tokens: {vocabulary: characters, length: 16}}",
                 "data.tokens.text=" + path,
                 "model={name: gpt, blocks: 1, width: 16, heads: 2}",
                 "batch_size=8",
                 "tower_threads=1",
                 "devices=cpu",
                 "optimizer.lr=0.01"};
  std::string run = folder / "run";
  expect_success(trainer(words + Words{"steps=5", "output=" + run}));
  for (char& c : text) c = c == 'm' ? 'r' : c;  // as many characters, but not the same ones
  folder.write("text.txt", text);
  Answers answers = ask_all(run, words);
  for (const Output& output : {answers.eval, answers.resumed})
    expect_parts(expect_error(4, output, "only in the data: 'r'").last_error_line(),
                 {"checkpoint: 'm'"});
}

}  // namespace
}  // namespace spire
