#include "tests/runs/one_hash/one_hash.h"

#include <gtest/gtest.h>

namespace spire {
namespace {

const std::vector<Words> hosts = {{"devices=1xcpu"},
                                  {"devices=2xcpu", "strategy=sharded"},
                                  {"devices=3xcpu"},
                                  {"devices=4xcpu", "strategy=mirrored"},
                                  {"devices=1xcpu", "--processes", "2"}};

}  // namespace

void expect_one_hash(const RunFolder& folder, const std::string& directory, const Words& words) {
  std::string hash, evaluation;
  for (const Words& host : hosts) {
    Output output = trainer(words + host + Words{"--overwrite"});
    ASSERT_EQ(output.code, 0) << output.err;
    ASSERT_TRUE(folder.summary(directory)["val"].is_object());
    std::string numbers = folder.summary(directory)["val"].dump();
    if (hash.empty()) {
      hash = printed_hash(output);
      ASSERT_EQ(hash.size(), 16u) << hash;
      evaluation = numbers;
    }
    EXPECT_EQ(printed_hash(output), hash) << host[0] << ' ' << host.size();
    EXPECT_EQ(numbers, evaluation) << host[0] << ' ' << host.size();
  }
}

}  // namespace spire
