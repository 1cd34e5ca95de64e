// trainer init writes a config that passes --check; trainer models lists sizes; trainer lr-find
// finds the same rates on any devices.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/program.h"
#include "tests/tools/small_data.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

// Prints a config for the data, and trains two steps with it.
// warned: a part of what a check of that config warns of; empty: it warns of nothing.
std::string good_config(const WorkFolder& folder, const Words& words,
                        const std::string& warned = "") {
  Output made = expect_success(trainer(Words{"init"} + words));
  std::string file = folder.write("run.yaml", made.out);
  Output checked = expect_success(trainer({"--config", file, "--check"}));
  EXPECT_THAT(checked.err, HasSubstr(warned)) << made.out;
  EXPECT_EQ(checked.err.empty(), warned.empty()) << checked.err;
  expect_success(trainer({"--config", file, "--dry-run", "2", "devices=cpu", "-q"}));
  return made.out;
}

std::string table(int rows, const char* header, bool words) {
  std::string text = header;
  for (int i = 0; i < rows; ++i)
    text += words ? std::to_string(i % 7) + "," + std::to_string(i % 5) + "," +
                        (i % 7 > 3 ? "high\n" : "low\n")
                  : std::to_string(i % 7) + "," + std::to_string(i % 5) + "," +
                        std::to_string(i % 7 * 1.5) + "\n";
  return text;
}

TEST(Init, WritesAConfigForATable) {
  WorkFolder folder;
  std::string file = folder.write("flowers.csv", table(200, "a,b,kind\n", true));
  std::string config = good_config(folder, {"--data", file});
  expect_parts(config,
               {"# a table: ", "classes", "name: mlp", "few samples: few weights", "name: csv",
                "flowers.csv", "name: adam", "trainer lr-find", "runs/flowers"});
}

TEST(Init, WritesAConfigForNumbersToPredict) {
  WorkFolder folder;
  std::string file = folder.write("prices.csv", table(200, "a,b,price\n", false));
  expect_parts(good_config(folder, {"--data", file, "--model", "linear"}), {"name: linear"});
  expect_parts(good_config(folder, {"--data", file, "data.csv.test_share=0.3"}),
               {"test_share: 0.3"});
}

TEST(Init, WritesAConfigForImages) {
  SmallData data;
  expect_parts(good_config(data.folder, {"--data", data.folder / ""}),
               {"# IDX files: ", "name: mlp", "name: idx"});  // mlp: of 8 x 8 pixels
}

// The target's place is in no reader's head: the config names it, and the columns are shown.
TEST(Init, NamesTargetAndColumnsOfATable) {
  WorkFolder folder;
  std::string text = "id,width,kind,note\n";
  for (int i = 0; i < 200; ++i)
    text += fmt::format("{},{},{},{}\n", i, i % 7 * 0.5, i % 3 == 0 ? "high" : "low",
                        i % 11 == 0 ? "" : "x");
  std::string file = folder.write("flowers.csv", text);
  std::string config =
      good_config(folder, {"--data", file, "--target", "kind"}, "numbers the rows and is left out");
  expect_parts(config,
               {"    target: kind", "The target is kind; --target NAME takes another column.",
                "id     whole numbers, over 100 different from 0 to 199  left out",
                "width  numbers, 7 different from 0 to 3                 feature",
                "kind   words, 2 different ('high', 'low')               target",
                "note   words, 1 different ('x'); 19 empty               feature"});
  expect_error(2, trainer({"init", "--data", file, "--target", "knid"}), "did you mean 'kind'?");
  // What a run would refuse is told with the columns, of which another may be meant.
  // 200 numbers are values.
  expect_success(trainer({"init", "--data", file, "--target", "0", "--model", "mlp"}));
  std::string names = "a,name\n";
  for (int i = 0; i < 50; ++i) names += fmt::format("{},name{}\n", i % 5, i);
  Output hardly = expect_error(4, trainer({"init", "--data", folder.write("names.csv", names)}),
                               "--target NAME makes another column the target");
  EXPECT_THAT(hardly.err, HasSubstr("name  words, 50 different"));
  expect_error(2, trainer({"init", "--data", folder.write("a.txt", names), "--target", "a"}),
               "--target: names a column of a table");
}

// An image of side x side pixels, 24 bits a pixel.
void write_bmp(const fs::path& path, int side, int seed) {
  fs::create_directories(path.parent_path());
  std::string pixels;
  for (int y = 0; y < side; ++y) {
    std::string row;
    for (int x = 0; x < 3 * side; ++x) row += static_cast<char>((x * y + seed * 37) % 251);
    row.resize((row.size() + 3) / 4 * 4);
    pixels += row;
  }
  auto number = [](uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
    return text;
  };
  auto width = static_cast<uint32_t>(side), size = static_cast<uint32_t>(pixels.size());
  std::ofstream(path, std::ios::binary)
      << "BM" << number(54 + size, 4) << number(0, 4) << number(54, 4) << number(40, 4)
      << number(width, 4) << number(width, 4) << number(1, 2) << number(24, 2) << number(0, 4)
      << number(size, 4) << number(2835, 4) << number(2835, 4) << number(0, 8) << pixels;
}

// Small images are not enlarged to 224, nor given a model for such.
TEST(Init, LooksAtTheSizeOfImages) {
  WorkFolder folder;
  struct Case {
    int side;
    const char *model, *more;
  };
  for (auto [side, model, more] : {Case{8, "name: mlp", ""}, Case{32, "depth: 20", ""},
                                   Case{100, "depth: 18", "variant: imagenet"}}) {
    fs::path images = folder / ("of" + std::to_string(side));
    for (int i = 0; i < 20; ++i)
      write_bmp(images / (i % 2 ? "cats" : "dogs") / fmt::format("{}.bmp", i), side, i);
    std::string config = good_config(folder, {"--data", images.string()});
    expect_parts(config, {fmt::format("size: {}\n", side), "fit: squash", model, more});
  }
}

TEST(Init, TakesTheModelOfPairsThatAutoTakes) {
  WorkFolder folder;
  for (const char* part : {"input", "target"})
    for (int i = 0; i < 20; ++i)
      write_bmp(fs::path(folder / "pairs") / part / fmt::format("{}.bmp", i), 16, i);
  EXPECT_THAT(good_config(folder, {"--data", folder / "pairs"}), HasSubstr("name: unet"));
}

// Features over time are no features in no order.
TEST(Init, TakesARecurrentModelForSequences) {
  WorkFolder folder;
  auto write_npy = [&](const std::string& name, const std::string& type, const std::string& shape,
                       const std::string& data) {
    std::string header =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape);
    header.resize(117, ' ');
    folder.write(name, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + data);
  };
  std::string features, labels;
  for (int i = 0; i < 100 * 6 * 3; ++i) {
    auto value = static_cast<float>(i % 17);
    features.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  for (int i = 0; i < 100; ++i) labels += static_cast<char>(i % 2);
  write_npy("x_train.npy", "<f4", "(100, 6, 3)", features);
  write_npy("y_train.npy", "|u1", "(100,)", labels);
  expect_parts(good_config(folder, {"--data", folder / ""}),
               {"name: layers", "[lstm: {units: 64, output: last}, dense: {units: classes}]"});
}

TEST(Init, WritesConfigsForTextAndDocuments) {
  WorkFolder folder;
  std::string text;
  for (int i = 0; i < 1500; ++i) text += "line " + std::to_string(i * i) + "\n";
  expect_parts(good_config(folder, {"--data", folder.write("story.txt", text)}),
               {"# text: ", "name: gpt", "story.txt", "length: 128", "name: adamw"});
  std::string lines;
  for (int i = 0; i < 500; ++i)
    lines += "{\"text\": \"document " + std::to_string(i * i) + " of numbers\"}\n";
  expect_parts(good_config(folder, {"--data", folder.write("all.jsonl", lines)}),
               {"# text: ", "name: gpt", "all.jsonl", "documents: packed"});
}

TEST(Init, SaysWhatItRecognizes) {
  WorkFolder folder;
  expect_error(2, trainer({"init", "--data", folder.write("data.xyz", "?")}),
               "its format is not recognized; known are a table");
  expect_error(2, trainer({"init", "--data", folder / "none"}),
               "none: there is no such file or folder");
  expect_error(2, trainer({"init"}), "--data is required");
  expect_error(2, trainer({"init", "--data", folder / "x", "--model", "resnett"}),
               "resnett not in {auto,");
}

TEST(Models, AreListedWithKeysAndParameters) {
  Output output = expect_success(trainer({"models"}));
  EXPECT_EQ(output.err, "");
  EXPECT_THAT(output.out, testing::ContainsRegex("resnet +depth=20 +images \\(32, 32, 3\\)"));
  EXPECT_THAT(output.out, testing::ContainsRegex("depth=50 +images [^\n]+ 25 557 032\n"));
  EXPECT_THAT(output.out, testing::ContainsRegex("size=gpt2 +tokens [^\n]+ 124 439 808\n"));
  EXPECT_THAT(output.out, testing::ContainsRegex("cnn +hidden, channels"));
  EXPECT_THAT(output.out, HasSubstr("layers: a list of layers"));
}

struct Found {
  Output output;
  std::string csv, page;
};

Found find_rate(const SmallData& data, const std::string& name, const Words& more) {
  Words words = Words{"lr-find", "--to=" + data.output(name)} +
                data.run(name, {"towers=2", "batch_size=16"}) + more;
  return {trainer(words), content_of(data.output(name) + "/lr_find.csv"),
          content_of(data.output(name) + "/lr_find.html")};
}

TEST(LrFind, SuggestsTheSameRateOnAnyDevices) {
  SmallData data;
  Found one = find_rate(data, "one", {"--steps=60", "--low=1e-4", "--high=10"});
  EXPECT_EQ(one.output.code, 0) << one.output.err;
  EXPECT_THAT(one.output.out,
              testing::ContainsRegex("suggested +optimizer.lr=[0-9.e-]+, the best of these runs"));
  EXPECT_THAT(one.csv, testing::StartsWith("step,lr,loss,smoothed\n1,0.0001,"));
  EXPECT_GT(std::count(one.csv.begin(), one.csv.end(), '\n'), 30);
  EXPECT_THAT(one.page, HasSubstr("Loss over the learning rate"));
  Found two = find_rate(data, "two", {"--steps=60", "--low=1e-4", "--high=10", "devices=2xcpu"});
  EXPECT_EQ(two.csv, one.csv);
  EXPECT_FALSE(std::filesystem::exists(data.output("one") + "/checkpoints"));
}

// A rate that cannot work ends the test, not the command.
TEST(LrFind, EndsEarlyWhereTheLossBlowsUp) {
  SmallData data;
  Found found =
      find_rate(data, "run", {"--steps=40", "--low=0.01", "--high=1e12", "loss.name=mse"});
  EXPECT_EQ(found.output.code, 0) << found.output.err;
  EXPECT_THAT(found.output.out, HasSubstr("ended early: "));
  EXPECT_LT(std::count(found.csv.begin(), found.csv.end(), '\n'), 41);
}

TEST(LrFind, SaysWhereNoRateWorks) {
  SmallData data;
  Found found = find_rate(data, "run", {"--steps=3", "--low=1e6", "--high=1e7"});
  EXPECT_EQ(found.output.code, 0) << found.output.err;
  EXPECT_THAT(found.output.out, HasSubstr("no rate is suggested: the smoothed loss never fell"));
  found = find_rate(data, "run", {"--low=1", "--high=0.1"});
  expect_error(2, found.output, "from a low rate to a higher one");
}

}  // namespace
}  // namespace spire
