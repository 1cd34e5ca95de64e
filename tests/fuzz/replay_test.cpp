// Replay of a target without libFuzzer, in every build: seeds are accepted, files that once broke
// the parser no longer do, and mutations are accepted or refused, nothing else.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "tests/fuzz/mutation.h"

namespace spire::fuzz {
namespace {

constexpr int mutations = 500;

int consume(const Bytes& bytes) {
  // A block of exactly this size, so that AddressSanitizer sees a read past the end.
  Bytes exact(bytes.begin(), bytes.end());
  exact.shrink_to_fit();
  return fuzz::consume(exact.data(), exact.size());
}

TEST(Replay, GoodFilesAreAccepted) {
  auto good = seeds();
  ASSERT_FALSE(good.empty());
  for (size_t i = 0; i < good.size(); ++i) EXPECT_EQ(consume(good[i]), accepted) << "seed " << i;
  EXPECT_EQ(seeds(), good) << "seeds differ from call to call";
}

TEST(Replay, CutOffFilesAreSurvived) {
  for (const Bytes& good : seeds()) {
    size_t step = 1 + good.size() / 64;
    for (size_t size = 0; size < good.size(); size += step)
      EXPECT_NO_THROW(consume({good.data(), good.data() + size})) << size << " bytes";
  }
}

TEST(Replay, KeptFilesAreSurvived) {
  if (!std::filesystem::exists(CORPUS_FOLDER)) return;  // nothing was found yet
  for (const auto& entry : std::filesystem::directory_iterator(CORPUS_FOLDER)) {
    std::ifstream file(entry.path(), std::ios::binary);
    Bytes bytes(std::istreambuf_iterator<char>(file), {});
    EXPECT_NO_THROW(consume(bytes)) << entry.path();
  }
}

TEST(Replay, DamagedFilesAreAcceptedOrRefused) {
  auto good = seeds();
  Mutator mutator(1);
  std::set<std::string> seen;
  int refusals = 0;
  for (int i = 0; i < mutations; ++i) {
    Bytes bytes = mutator.mutate(good[static_cast<size_t>(i) % good.size()]);
    EXPECT_NO_THROW(refusals += consume(bytes)) << "mutation " << i;
    seen.emplace(bytes.begin(), bytes.end());
  }
  EXPECT_GT(seen.size(), mutations * 3u / 4) << "the files are hardly damaged";
  EXPECT_GT(refusals, mutations / 10) << "the parser takes anything";
}

}  // namespace
}  // namespace spire::fuzz
