// A run small enough for a test: 8x8 images, the bright quadrant is the label.
#pragma once
#include <cstdint>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/tools/program.h"

namespace spire {

// The parts of an IDX file: sizes in big-endian order after the magic number.
inline void write_idx(const std::string& path, uint32_t magic, const std::vector<uint32_t>& sizes,
                      const std::string& body) {
  std::ofstream file(path, std::ios::binary);
  auto put = [&](uint32_t v) {
    for (int shift : {24, 16, 8, 0}) file.put(static_cast<char>(v >> shift));
  };
  put(magic);
  for (uint32_t size : sizes) put(size);
  file << body;
}

inline void write_images(const std::string& prefix, uint32_t count) {
  std::string pixels, labels;
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t p = 0; p < 64; ++p) {
      uint32_t quadrant = p / 32 * 2 + p % 8 / 4;
      uint32_t noise = (i * 31 + p * 17 + i * p) % 60;
      pixels += static_cast<char>(quadrant == i % 4 ? 190 + noise : noise);
    }
    labels += static_cast<char>(i % 4);
  }
  write_idx(prefix + "-images-idx3-ubyte", 0x803, {count, 8, 8}, pixels);
  write_idx(prefix + "-labels-idx1-ubyte", 0x801, {count}, labels);
}

// 250 training images: with batches of 32 the last one is smaller.
struct SmallData {
  WorkFolder folder;

  SmallData() {
    write_images(folder / "train", 250);
    write_images(folder / "t10k", 50);
  }
  std::string output(const std::string& name) const { return folder / name; }

  // The words of a run into output(name), then `more`.
  Words run(const std::string& name, const Words& more = {}) const {
    return Words{"data.name=idx",   "data.path=" + (folder / ""),
                 "model.name=mlp",  "model.hidden=[16]",
                 "batch_size=32",   "devices=cpu",
                 "tower_threads=1", "log.every_steps=1",
                 "steps=12",        "output=" + output(name)} +
           more;
  }
};

// Returns the text after `label` at the beginning of a line.
inline std::string line_value(const std::string& text, const std::string& label) {
  size_t begin = ("\n" + text).find("\n" + label);
  if (begin == std::string::npos) return "";
  std::string line = text.substr(begin, text.find('\n', begin) - begin);
  size_t value = line.find_first_not_of(' ', label.size());
  return value == std::string::npos ? "" : line.substr(value);
}

}  // namespace spire
