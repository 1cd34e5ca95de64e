// A small run with dropout on made-up images, and faults that flip one bit in a replay of it.
#pragma once
#include <bit>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "engine/run/audit/audit_record.h"
#include "tests/run/made_run.h"
#include "tests/tools/small_data.h"
#include "tools/audit/audit_run.h"

namespace spire {

// Runs of a small network on 60 made-up images.
class ImageRuns {
 public:
  ImageRuns() {
    std::filesystem::create_directories(runs / "images");
    write_images(runs / "images/train", 60);
    write_images(runs / "images/t10k", 12);
  }
  Words words(const Words& more = {}) const {
    return Words{"data.name=idx",        "data.path=" + (runs / "images").string(),
                 "data.csv.target=last", "data.csv.task=auto",
                 "model.name=cnn",       "model.channels=[4]",
                 "model.hidden=[8]",     "batch_size=4",
                 "optimizer.lr=0.05"} +
           more;
  }

  MadeRuns runs;
};

// Four towers of 4 samples, so 4 steps an epoch, the last of which is ragged.
class AuditedRuns : public ImageRuns {
 public:
  Words words(const Words& more = {}) const {
    return ImageRuns::words({"model.dropout=0.25", "data.augment.flip=true", "towers=4", "steps=12",
                             "checkpoint.every_steps=4", "checkpoint.keep_last=10",
                             "audit.weights_every_steps=1"}) +
           more;
  }
  RunResult train(const std::string& name, const Words& more = {}) const {
    return runs.train(name, words(more));
  }
  RunAuditor auditor(const std::string& name) const { return {runs / name, {}}; }
};

inline float with_flipped_bit(float value, int bit = 0) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) ^ (1u << bit));
}

// One bit of one element, in one step.
struct BitFlip {
  int64_t step = 0;
  int tower = -1;           // -1: the weight `tensor` behind the step
  std::string tensor = {};  // TensorName::text(), or a weight
  size_t element = 0;
  int bit = 0;  // of the element
};

// Makes replays faulty. An observer on a CPU sees the memory itself.
class FaultyReplay : public TensorObserver {
 public:
  explicit FaultyReplay(const BitFlip& flip) : flip_(flip) {}

  ReplayHooks hooks() {
    return {.observer = this, .after_step = [this](int64_t done, TowerTrainer& trainer) {
              done_ = done;
              if (done == flip_.step && flip_.tower < 0) flip_weight(trainer);
            }};
  }

  // The batch stays where it is when a step is inspected again: the bit is flipped once.
  void on_tensor(int tower, const TensorName& name, const TensorSpec& spec,
                 std::span<const std::byte> values) override {
    if (tower != flip_.tower || done_ != flip_.step - 1 || name.text() != flip_.tensor) return;
    size_t at = flip_.element * size_of(spec.dtype) + static_cast<size_t>(flip_.bit / 8);
    auto mask = static_cast<std::byte>(1u << flip_.bit % 8);
    auto& byte = const_cast<std::byte&>(values[at]);
    if (!faulty_) faulty_ = ~byte & mask;
    byte = (byte & ~mask) | *faulty_;
  }

 private:
  void flip_weight(TowerTrainer& trainer) const {
    const ParameterEntry& entry = trainer.layout().find(flip_.tensor);
    std::vector<float> values(static_cast<size_t>(entry.elements()));
    trainer.read_weight(entry, values);
    float& value = values.at(flip_.element);
    value = with_flipped_bit(value, flip_.bit);
    trainer.write_weight(entry, values);
  }

  BitFlip flip_;
  int64_t done_ = 0;
  std::optional<std::byte> faulty_;  // the flipped bit
};

inline std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

inline void write_lines(const std::filesystem::path& path, const std::vector<std::string>& lines) {
  std::ofstream file(path);
  for (const std::string& line : lines) file << line << '\n';
}

}  // namespace spire
