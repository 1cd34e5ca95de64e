// Runs on tar shards end with one hash: on any devices, in two processes, and resumed within a
// shard.
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/images/png.h"
#include "tests/data/formats/tar_files.h"
#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

// Three shards of 20 images of 12 x 12 in two classes: 54 for training, an epoch of 7 steps.
class TarShards : public testing::TestWithParam<std::string> {
 protected:
  TarShards() {
    for (int shard = 0; shard < 3; ++shard) {
      std::vector<Bytes> members;
      for (int i = 20 * shard; i < 20 * (shard + 1); ++i) {
        members.push_back(tar_member(fmt::format("{:03}.png", i), png_of(i)));
        members.push_back(tar_text(fmt::format("{:03}.cls", i), std::to_string(i % 2)));
      }
      Bytes archive = tar_of(members);
      std::ofstream file(folder_ / fmt::format("shard-{}.tar", shard), std::ios::binary);
      file.write(reinterpret_cast<const char*>(archive.data()), std::ssize(archive));
    }
  }

  Bytes png_of(int number) const {
    PngImage image{12, 12, 3, std::vector<uint8_t>(12 * 12 * 3)};
    for (size_t p = 0; p < image.pixels.size(); ++p)
      image.pixels[p] =
          static_cast<uint8_t>(number % 2 * 90 + number + static_cast<int>(p * 31 % 80));
    write_png(folder_ / "image.png", image);
    std::ifstream file(folder_ / "image.png", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  RunFolder folder_;
};

// Step 10 is the third of the second epoch.
TEST_P(TarShards, EndWithOneHash) {
  expect_one_hash(folder_,
                  {"data.name=webdataset", "data.path=" + (folder_ / "shard-{0..2}.tar").string(),
                   "data.image.size=12", "data.image.fit=squash", "data.shuffle=" + GetParam(),
                   "data.augment.rand_augment.count=2", "data.augment.erase.probability=0.5",
                   "batch_size=2", "model.name=mlp", "model.hidden=[8]", "schedule.name=constant",
                   "checkpoint.every_steps=5", "steps=17"},
                  10);
}

INSTANTIATE_TEST_SUITE_P(Orders, TarShards, testing::Values("full", "chunk"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace spire
