#include "tests/runs/run_folder.h"

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

fs::path make_run_folder() {
  fs::path memory = "/dev/shm";
  fs::path parent = ::access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
  std::string name = (parent / "spire_runs_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  return name;
}

}  // namespace

RunFolder::RunFolder() : path_(make_run_folder()) {
  fs::create_directory(path_ / "data");
  write_banded_images(path_ / "data", "train", 300, 1);
  write_banded_images(path_ / "data", "t10k", 100, 2);
}

RunFolder::~RunFolder() {
  fs::remove_all(path_);
}

Words RunFolder::run(const std::string& name, const Words& more) const {
  Words words = {"data.name=idx",
                 "data.path=" + (path_ / "data").string(),
                 "output=" + (path_ / name).string(),
                 "batch_size=8",
                 "towers=4",
                 "tower_threads=1",
                 "devices=1xcpu",
                 "log.every_steps=1"};
  return words + more;
}

Json RunFolder::summary(const std::string& name) const {
  std::ifstream file(path_ / name / "summary.json");
  return Json::parse(file);
}

std::vector<Json> RunFolder::metrics(const std::string& name) const {
  std::ifstream file(path_ / name / "metrics.jsonl");
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

fs::path RunFolder::checkpoint(const std::string& name, int64_t step) const {
  std::string digits = std::to_string(step);
  digits.insert(0, 8 - std::min<size_t>(8, digits.size()), '0');
  return path_ / name / "checkpoints" / ("step_" + digits + ".h5");
}

std::vector<int64_t> RunFolder::checkpoints(const std::string& name) const {
  std::vector<int64_t> steps;
  for (const auto& entry : fs::directory_iterator(path_ / name / "checkpoints")) {
    if (entry.path().extension() != ".h5") continue;
    steps.push_back(std::stoll(entry.path().stem().string().substr(5)));
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string printed_hash(const Output& output) {
  std::string last = output.out.substr(0, output.out.find_last_not_of('\n') + 1);
  last = last.substr(last.rfind('\n') + 1);
  if (!last.starts_with("parameter hash ")) ADD_FAILURE() << "no hash on the last line: " << last;
  return last.substr(last.rfind(' ') + 1);
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

}  // namespace spire
