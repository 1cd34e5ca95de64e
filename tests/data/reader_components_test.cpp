// Tests components of dataset readers: block cache, scratch pool, policy for
// corrupt samples.
#include <atomic>
#include <deque>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/config/words.h"
#include "engine/data/formats/hdf5_table.h"
#include "engine/data/sample_reading.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::HasSubstr;

// Against a list kept in order of use.
TEST(BlockCache, EvictsTheLeastRecentlyUsedBlock) {
  constexpr int64_t slots = 5;
  BlockCache cache(slots, 8);
  std::deque<int64_t> recent;
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    int64_t block = static_cast<int64_t>(random() % 9);
    auto known = std::ranges::find(recent, block);
    BlockCache::Slot found = cache.get(block);
    ASSERT_EQ(found.fresh, known == recent.end());
    if (!found.fresh) {
      ASSERT_EQ(*reinterpret_cast<int64_t*>(found.memory), block);
    }
    *reinterpret_cast<int64_t*>(found.memory) = block;
    if (known != recent.end()) recent.erase(known);
    recent.push_front(block);
    if (recent.size() > slots) recent.pop_back();
  }
}

TEST(BlockCache, AForgottenBlockIsFreshAndItsSlotIsTheNext) {
  BlockCache cache(3, 1);
  std::byte* first = cache.get(10).memory;
  cache.get(11), cache.get(12), cache.get(10);
  cache.forget(10);
  cache.forget(99);  // unknown
  EXPECT_EQ(cache.get(13).memory, first);
  EXPECT_FALSE(cache.get(11).fresh);
  EXPECT_TRUE(cache.get(10).fresh);
  EXPECT_THROW(BlockCache(0, 1), Error);
}

TEST(BlockCache, TooMuchMemoryIsAConfigError) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer ends a program that asks for so much";
#endif
  EXPECT_THAT(message_of(Category::config, [] { BlockCache(4096, size_t{1} << 50); }),
              HasSubstr("lower data.hdf5.cache_mib"));
}

TEST(ScratchPool, NoTwoBorrowersShareAScratch) {
  ScratchPool<std::atomic<int>> pool(2, [] { return std::make_unique<std::atomic<int>>(0); });
  std::atomic<int> shared{0}, borrowed{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 5; ++i)
      threads.emplace_back([&] {
        for (int loan = 0; loan < 400; ++loan) {
          auto scratch = pool.borrow();
          if (++*scratch != 1) ++shared;
          std::this_thread::yield();
          --*scratch;
          ++borrowed;
        }
      });
  }
  EXPECT_EQ(shared, 0);
  EXPECT_EQ(borrowed, 2000);
}

void read_even(int64_t sample) {
  if (sample % 2 != 0) fail(Category::data, "sample {} is odd", sample);
}

DataConfig on_error(const char* word) {
  DataConfig config;
  config.on_error = *find_word<DataConfig::OnError>(word);
  return config;
}

TEST(CorruptSamples, EndTheRunAtTheFirst) {
  CorruptSamples broken(8, on_error("stop"));
  auto message = [&](const auto& read) {
    return message_of(Category::data, [&] { broken.read_or_skip(3, read); });
  };
  std::string skip = " leave such samples out by data.on_error: skip; trainer --check --deep names";
  EXPECT_THAT(message(read_even), HasSubstr("sample 3 is odd; correct it, or" + skip));
  auto advise = [](int64_t) { fail(Category::data, "it is cut off; get an intact copy"); };
  EXPECT_THAT(message(advise), HasSubstr("it is cut off; get an intact copy, or" + skip));
  EXPECT_EQ(broken.skipped(), 0);
}

TEST(CorruptSamples, SkipToTheNextReadableOneAroundTheEnd) {
  CorruptSamples broken(8, on_error("skip"));
  int64_t taken = -1, calls = 0;
  auto read = [&](int64_t sample) {
    ++calls;
    read_even(sample);
    taken = sample;
  };
  broken.read_or_skip(7, read);
  EXPECT_EQ(taken, 0);
  broken.read_or_skip(3, read);
  EXPECT_EQ(taken, 4);
  EXPECT_EQ(calls, 4);
  broken.read_or_skip(3, read);  // which is known by now
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(broken.skipped(), 2);
  EXPECT_EQ(broken.problems().front(), "sample 3 is odd");
}

TEST(CorruptSamples, OtherErrorsAndNoReadableSampleEndTheRun) {
  CorruptSamples broken(3, on_error("skip"));
  EXPECT_THROW(broken.read_or_skip(0, [](int64_t) { fail(Category::device, "gone"); }), Error);
  EXPECT_EQ(broken.skipped(), 0);
  auto none = [](int64_t sample) { fail(Category::data, "{} is bad", sample); };
  for (int again = 0; again < 2; ++again)
    EXPECT_THAT(message_of(Category::data, [&] { broken.read_or_skip(1, none); }),
                HasSubstr("no sample can be read; the first problem: 0 is bad"));
}

}  // namespace
}  // namespace spire
