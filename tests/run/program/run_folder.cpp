#include "tests/run/program/run_folder.h"

#include <algorithm>
#include <fstream>
#include <map>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <spire/random_stream.h>

#include "tests/tools/small_data.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
constexpr uint32_t test_side = 12, test_pixels = test_side * test_side, test_classes = 4;

// Noise, and a bright band of three rows at a place that tells the label, on most images.
void write_banded_images(const fs::path& folder, const std::string& prefix, uint32_t count,
                         uint64_t seed) {
  RandomStream random(seed, Purpose::initialize);
  std::string pixels, labels;
  for (uint32_t i = 0; i < count; ++i) {
    auto label = static_cast<uint32_t>(random.below(i, test_classes));
    bool clear = random.below(1000 + i, 10) > 0;
    for (uint32_t p = 0; p < test_pixels; ++p) {
      auto noise = random.below(10000 + i * test_pixels + p, 150);
      bool band = clear && p / (test_pixels / test_classes) == label;
      pixels += static_cast<char>(noise + (band ? 60 : 0));
    }
    labels += static_cast<char>(label);
  }
  write_idx(folder / (prefix + "-images-idx3-ubyte"), 0x803, {count, test_side, test_side}, pixels);
  write_idx(folder / (prefix + "-labels-idx1-ubyte"), 0x801, {count}, labels);
}

fs::path where_writing_is_quick() {
  fs::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
}

}  // namespace

RunFolder::RunFolder() : Folder(where_writing_is_quick()) {
  fs::create_directory(*this / "data");
  write_banded_images(*this / "data", "train", 300, 1);
  write_banded_images(*this / "data", "t10k", 100, 2);
}

Words RunFolder::run(const std::string& name, const Words& more) const {
  Words words = {"data.name=idx",
                 "data.path=" + (*this / "data").string(),
                 "output=" + (*this / name).string(),
                 "batch_size=8",
                 "towers=4",
                 "tower_threads=1",
                 "devices=1xcpu",
                 "log.every_steps=1"};
  return words + more;
}

Json RunFolder::summary(const std::string& name) const {
  std::ifstream file(*this / name / "summary.json");
  return Json::parse(file);
}

std::vector<Json> RunFolder::metrics(const std::string& name) const {
  std::ifstream file(*this / name / "metrics.jsonl");
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

fs::path RunFolder::checkpoint(const std::string& name, int64_t step) const {
  std::string digits = std::to_string(step);
  digits.insert(0, 8 - std::min<size_t>(8, digits.size()), '0');
  return *this / name / "checkpoints" / ("step_" + digits + ".h5");
}

std::vector<int64_t> RunFolder::checkpoints(const std::string& name) const {
  std::vector<int64_t> steps;
  for (const auto& entry : fs::directory_iterator(*this / name / "checkpoints")) {
    if (entry.path().extension() != ".h5") continue;
    steps.push_back(std::stoll(entry.path().stem().string().substr(5)));
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::vector<Json> curve(const std::vector<Json>& metrics) {
  std::vector<Json> points;
  for (const Json& line : metrics) {
    Json point;
    for (const auto& [tag, value] : line.items()) {
      bool computed = tag.starts_with("train/") || tag.starts_with("val/") || tag == "samples_seen";
      // The chain also covers the config and the names of files.
      if (computed && tag != "train/chain") point[tag] = value;
    }
    if (point.empty()) continue;
    point["step"] = line["step"];
    points.push_back(point);
  }
  return points;
}

void expect_ascending(const std::vector<Json>& metrics) {
  std::map<std::string, int64_t> last;
  for (const Json& line : metrics) {
    if (line.contains("warning")) continue;  // several may belong to a step
    std::string kind;
    for (const char* tag : {"train/loss", "val/loss", "checkpoint/bytes"})
      if (line.contains(tag)) kind = tag;
    if (line.contains("device")) kind = line["device"].dump() + " " + line.at("rank").dump();
    ASSERT_NE(kind, "") << line;
    auto step = line.at("step").get<int64_t>();
    // In the place of a checkpoint that failed, that of this step is written before an evaluation,
    // and again after it, with its result.
    bool may_repeat = kind == "checkpoint/bytes";
    if (last.contains(kind)) {
      EXPECT_GE(step, last[kind] + (may_repeat ? 0 : 1)) << line;
    }
    last[kind] = step;
  }
}

void expect_one_hash(const RunFolder& folder, const Words& words, int64_t stop) {
  const Words hosts[] = {{"devices=2xcpu", "strategy=sharded", "data.workers=3"},
                         {"devices=[cpu:0, cpu:1, cpu:2]", "parameter_device=cpu:1"},
                         {"devices=4xcpu", "strategy=mirrored"},
                         {"devices=1xcpu", "--processes", "2"}};
  std::string hash = printed_hash(trainer(folder.run("one", words + Words{"--overwrite"})));
  Json val = folder.summary("one")["val"];
  ASSERT_TRUE(val.is_object());
  for (const Words& host : hosts) {
    SCOPED_TRACE(testing::PrintToString(host));
    Output output = trainer(folder.run("other", words + host + Words{"--overwrite"}));
    EXPECT_EQ(printed_hash(output), hash);
    EXPECT_EQ(folder.summary("other")["val"], val);
    EXPECT_EQ(curve(folder.metrics("other")), curve(folder.metrics("one")));
  }
  Words part = {"steps=" + std::to_string(stop), "--overwrite"};
  EXPECT_EQ(trainer(folder.run("other", words + part)).code, 0);
  Output rest = trainer(folder.run("other", words + Words{"devices=2xcpu", "--resume", "auto"}));
  EXPECT_EQ(printed_hash(rest), hash) << "resumed";
}

}  // namespace spire
