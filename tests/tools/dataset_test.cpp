// Runs the subcommands of `trainer dataset`: convert, inspect, verify.
#include <csignal>
#include <sys/stat.h>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/tools/small_data.h"

namespace spire {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

Words dataset(const std::string& what, const Words& more) {
  return Words{"dataset", what} + more;
}

class DatasetTool : public testing::Test {
 protected:
  Words source() const { return {"data.name=idx", "data.path=" + (data_.folder / "")}; }
  std::string target() const { return data_.folder / "out.h5"; }
  Output convert(const Words& more = {}) const {
    return trainer(dataset("convert", source() + Words{"--to", target()} + more));
  }

  SmallData data_;
};

// What a run refuses is what one wants to look at.
TEST_F(DatasetTool, InspectDescribesATableThatARunRefuses) {
  std::string names = "a,name\n";
  for (int i = 0; i < 50; ++i) names += std::to_string(i % 5) + ",name" + std::to_string(i) + "\n";
  Words words = {"data.name=csv", "data.path=" + data_.folder.write("names.csv", names)};
  Output output = expect_success(trainer(dataset("inspect", words)));
  EXPECT_THAT(output.out, ContainsRegex("table +a +whole numbers, 5 different from 0 to 4"));
  EXPECT_THAT(output.out, ContainsRegex("name +words, 50 different .* +target"));
  expect_parts(output.out, {"refuses it: ", "are hardly classes"});
  nlohmann::json json =
      nlohmann::json::parse(trainer(dataset("inspect", words + Words{"--format", "json"})).out);
  EXPECT_EQ(json["table"][1]["role"], "target");
  EXPECT_THAT(json["refused"].get<std::string>(), HasSubstr("hardly classes"));
  Output bare = expect_success(trainer(dataset("inspect", words + Words{"data.csv.target=a"})));
  EXPECT_THAT(bare.out, HasSubstr("no column is left as a feature"));
  EXPECT_EQ(trainer(dataset("inspect", {"data.name=csv", "data.path=/none.csv"})).code, 4);
}

TEST_F(DatasetTool, InspectPrintsATable) {
  Output converted = expect_success(convert());
  EXPECT_EQ(line_value(converted.out, "samples"), "250 samples for training, 50 for testing");
  EXPECT_EQ(line_value(converted.out, "to read it"), "data.name=hdf5 data.path=" + target());
  Output output =
      expect_success(trainer(dataset("inspect", {"data={name: hdf5, path: " + target() + "}"})));
  EXPECT_THAT(output.out, ContainsRegex("columns +images +uint8 "));
  expect_parts(output.out, {"min 62, max 63, mean 62.5 samples per class",
                            "train/images: uint8 (250, 8, 8, 1), no chunks, 16000 bytes"});
  EXPECT_THAT(output.out, ContainsRegex("on disk +both +[0-9.]+ KiB +1 file\n"));
  EXPECT_EQ(output.err, "");
}

TEST_F(DatasetTool, InspectPrintsJson) {
  Output output = expect_success(trainer(dataset("inspect", source() + Words{"--format", "json"})));
  auto json = nlohmann::json::parse(output.out);
  EXPECT_EQ(json["train"]["samples"], 250);
  EXPECT_EQ(json["train"]["files"], 2);
}

TEST_F(DatasetTool, VerifyEndsWithFourWhereAByteIsFlipped) {
  ASSERT_EQ(convert().code, 0);
  Words words = {"data.name=hdf5", "data.path=" + target()};
  Output good = expect_success(trainer(dataset("verify", words)));
  EXPECT_EQ(line_value(good.out, "train"), "250 samples, 0 bad; 2 checksums compared");
  std::string bytes = content_of(target());
  std::string pixels = content_of(data_.folder / "train-images-idx3-ubyte").substr(16, 64);
  size_t at = bytes.find(pixels);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 4);
  std::ofstream(target(), std::ios::binary) << bytes;
  Output bad = expect_error(4, trainer(dataset("verify", words)),
                            "error[4]: the dataset has 1 wrong checksum; get an intact copy, or "
                            "correct the samples listed");
  EXPECT_THAT(bad.out, HasSubstr("bad: " + target() + ": train images, rows 0 to 249: "));
}

TEST_F(DatasetTool, AnExistingResultIsKept) {
  ASSERT_EQ(convert().code, 0);
  expect_error(2, convert(), "out.h5: exists already");
  EXPECT_EQ(convert({"--overwrite"}).code, 0);
}

TEST_F(DatasetTool, TextBecomesShards) {
  std::string text = data_.folder.write("a.txt", std::string(500, 'a') + std::string(500, 'b'));
  Output output = expect_success(
      trainer(dataset("convert", {"data.name=tokens", "data.tokens.text=[" + text + "]", "--to",
                                  data_.folder / "shards"})));
  EXPECT_EQ(line_value(output.out, "samples"), "900 tokens for training, 100 for testing");
  EXPECT_EQ(content_of(data_.folder / "shards/vocabulary.txt"), "bytes\n");
}

TEST_F(DatasetTool, HelpOfEachNamesItsOptions) {
  for (auto [what, option] : {std::pair("convert", "--overwrite"), std::pair("inspect", "--format"),
                              std::pair("verify", "--quiet")}) {
    Output output = expect_success(trainer({"dataset", what, "--help"}));
    expect_parts(output.out, {option, "data.path"});
  }
}

// 80 images of 256 KiB, a block each. The program's stderr is a pipe of one page which nobody
// empties, and it writes a line for each block: it cannot end before the signal.
class StoppedTool : public testing::TestWithParam<int> {};

TEST_P(StoppedTool, GoesOnWithTheSameCommand) {
  WorkFolder folder;
  for (auto [name, count] : {std::pair("train", 80u), std::pair("t10k", 1u)}) {
    std::string pixels;
    for (uint32_t i = 0; i < count << 18; ++i) pixels += static_cast<char>(i * 7 % 251);
    write_idx(folder / (std::string(name) + "-images-idx3-ubyte"), 0x803, {count, 512, 512},
              pixels);
    write_idx(folder / (std::string(name) + "-labels-idx1-ubyte"), 0x801, {count},
              std::string(count, '\1'));
  }
  std::string fifo = folder / "stderr";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  auto to = [&](const std::string& file) {
    return dataset("convert", {"data.name=idx", "data.path=" + (folder / ""),
                               "log.every_seconds=1e-9", "--to", folder / file});
  };
  Words shell = {"-c", "exec \"$0\" \"$@\" 2>" + fifo, TRAINER_PROGRAM};
  Program program("/bin/sh", shell + to("out.h5"));
  int pipe = open(fifo.c_str(), O_RDONLY);
  ASSERT_GE(pipe, 0);
  ASSERT_EQ(fcntl(pipe, F_SETPIPE_SZ, 4096), 4096);
  std::string err;
  for (char c = 0; err.find("converted ") == std::string::npos && read(pipe, &c, 1) == 1;) err += c;
  program.signal(GetParam());
  for (char c = 0; read(pipe, &c, 1) == 1;) err += c;
  close(pipe);
  Output stopped = program.finish();
  EXPECT_EQ(stopped.code, GetParam() == SIGKILL ? 128 + SIGKILL : 75) << err;
  if (GetParam() != SIGKILL) {
    EXPECT_THAT(err, ContainsRegex("error\\[75\\]: stopped by a signal at [0-9]+ of 81 rows; "
                                   "repeat the same command to continue"));
  }
  expect_success(trainer(to("out.h5")));
  EXPECT_EQ(trainer(to("whole.h5")).code, 0);
  EXPECT_TRUE(content_of(folder / "out.h5") == content_of(folder / "whole.h5"));
}

INSTANTIATE_TEST_SUITE_P(Signals, StoppedTool, testing::Values(SIGTERM, SIGINT, SIGKILL));

}  // namespace
}  // namespace spire
