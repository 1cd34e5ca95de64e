// Which blocks of a file are in memory: a bounded number of slots of one size, the block used
// longest ago giving way to a new one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace spire::inline data {

// One thread uses it. Memory is taken once, when it is made; the system provides pages of it as
// they are first written.
class BlockCache {
 public:
  // More are of no use: a block is found by looking at all of them.
  static constexpr int64_t max_slots = 4096;

  // slots in [1, max_slots]. Throws Error(config) where the memory is not to be had.
  BlockCache(int64_t slots, size_t slot_bytes);

  struct Found {
    std::byte* memory;  // of the block's slot: slot_bytes
    bool fresh;         // it does not hold the block yet: the caller fills it, or calls forget()
  };
  // The block keeps its slot until `slots` other blocks were asked for.
  Found get(int64_t block);
  void forget(int64_t block);

  int64_t slots() const { return static_cast<int64_t>(blocks_.size()); }
  int64_t fills() const { return fills_; }  // fresh ones so far

 private:
  size_t slot_bytes_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<int64_t> blocks_;  // of each slot; -1: none
  std::vector<uint64_t> used_;   // when, by the clock that counts calls
  uint64_t clock_ = 0;
  int64_t fills_ = 0;
};

}  // namespace spire::inline data
