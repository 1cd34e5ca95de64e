// Writes a target's seeds into a folder: the corpus that fuzzing starts from.
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "tests/fuzz/fuzz_target.h"

int main(int count, char** words) {
  if (count != 2) {
    std::cerr << "usage: " << words[0] << " FOLDER\n";
    return 2;
  }
  std::filesystem::path folder = words[1];
  std::filesystem::create_directories(folder);
  auto seeds = spire::fuzz::seeds();
  for (size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream file(folder / fmt::format("seed{:02}", i), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seeds[i].data()),
               static_cast<std::streamsize>(seeds[i].size()));
    if (!file.flush()) return 1;
  }
}
