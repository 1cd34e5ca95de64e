#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include <setjmp.h>
#include <ucontext.h>

#include "cuda_runtime.h"
#include "draw.h"
#include "engine/base/fail.h"

#if defined(_FORTIFY_SOURCE) && _FORTIFY_SOURCE > 0
#error "a fortified longjmp() to another stack ends the program"
#endif

namespace spire::emulation {

namespace {

constexpr size_t stack_bytes = 128 * 1024;
constexpr int warp_lanes = 32;

// A thread of the running block. Its stack is used again by later blocks. Fibres change by
// _longjmp(): swapcontext() asks the kernel for the signal mask each time, half of all tests' time.
struct Fibre {
  ucontext_t beginning{};
  bool begun = false;
  jmp_buf place;
  std::unique_ptr<char[]> stack;
  uint3 index;
  bool ended = true;
};

// A rendezvous of a warp, which ends when all lanes have come. It has two rows of words, used in
// turn: a late lane still reads the row of its rendezvous, as the one after the next needs all
// lanes.
struct RendezvousResult {
  uint64_t generation = 0;
  unsigned arrived = 0;  // lanes, as bits
  uint64_t words[2][warp_lanes] = {};
};

class Block {
 public:
  void run(dim3 grid, dim3 block, uint3 index, const std::function<void()>& body) {
    prepare(block);
    body_ = &body;
    blockIdx = index;
    blockDim = block;
    gridDim = grid;
    while (running_ > 0) {
      uint64_t before = progress_;
      std::shuffle(order_.begin(), order_.end(), draw_);
      for (size_t i : order_) resume(i);
      if (progress_ == before) give_up(index);
    }
  }

  void meet_block(bool vote) {
    votes_ += vote;
    uint64_t generation = generation_;
    if (++waiting_ == static_cast<int>(order_.size())) {
      waiting_ = 0;
      counted_ = votes_;
      votes_ = 0;
      ++generation_;
      ++progress_;
    }
    while (generation_ == generation) yield();
  }
  int counted() const { return counted_; }

  const uint64_t* meet_warp(unsigned mask, uint64_t word, WarpWork work) {
    auto lane_bit = 1u << lane();
    RendezvousResult& meeting = warps_[current_ / warp_lanes];
    uint64_t generation = meeting.generation;
    uint64_t* row = meeting.words[generation % 2];
    row[lane()] = word;
    meeting.arrived |= lane_bit;
    if ((meeting.arrived & mask) == mask) {
      if (work) work(row);
      meeting.arrived &= ~mask;
      ++meeting.generation;
      ++progress_;
    }
    while (meeting.generation == generation) yield();
    return row;
  }

  int lane() const { return static_cast<int>(current_ % warp_lanes); }

 private:
  void prepare(dim3 block) {
    size_t count = size_t{block.x} * block.y * block.z;
    require(count >= 1 && count <= 1024, "a block of {} threads", count);
    while (fibres_.size() < count) add_fibre();
    order_.resize(count);
    std::iota(order_.begin(), order_.end(), 0);
    warps_.assign((count + warp_lanes - 1) / warp_lanes, {});
    for (size_t i = 0; i < count; ++i) {
      auto x = static_cast<unsigned>(i);
      fibres_[i]->index = {x % block.x, x / block.x % block.y, x / block.x / block.y};
      fibres_[i]->ended = false;
    }
    running_ = count;
    waiting_ = votes_ = 0;
  }

  void add_fibre() {
    auto fibre = std::make_unique<Fibre>();
    fibre->stack = std::make_unique_for_overwrite<char[]>(stack_bytes);
    ::getcontext(&fibre->beginning);
    fibre->beginning.uc_stack.ss_sp = fibre->stack.get();
    fibre->beginning.uc_stack.ss_size = stack_bytes;
    ::makecontext(&fibre->beginning, &Block::run_fibre, 0);
    fibres_.push_back(std::move(fibre));
  }

  // A fibre runs one body after another, as often as its block is used.
  static void run_fibre();

  void resume(size_t i) {
    if (fibres_[i]->ended) return;
    current_ = i;
    threadIdx = fibres_[i]->index;
    enter(*fibres_[i]);
  }

  // Returns when the fibre yields.
  [[gnu::noinline]] void enter(Fibre& fibre) {
    if (_setjmp(scheduler_)) return;
    if (fibre.begun) _longjmp(fibre.place, 1);
    fibre.begun = true;
    ::setcontext(&fibre.beginning);
  }

  [[gnu::noinline]] void yield() {
    if (!_setjmp(fibres_[current_]->place)) _longjmp(scheduler_, 1);
  }

  [[noreturn]] void give_up(uint3 index) {
    size_t stuck = running_;
    fibres_.clear();  // their frames are lost with them
    fail(Category::unexpected,
         "block ({}, {}, {}): {} of {} threads wait at a barrier or shuffle for others that never "
         "come there",
         index.x, index.y, index.z, stuck, order_.size());
  }

  std::vector<std::unique_ptr<Fibre>> fibres_;
  std::vector<size_t> order_;
  std::vector<RendezvousResult> warps_;
  jmp_buf scheduler_;
  const std::function<void()>* body_ = nullptr;
  size_t current_ = 0, running_ = 0;
  int waiting_ = 0, votes_ = 0, counted_ = 0;  // of the block's barrier
  uint64_t generation_ = 0, progress_ = 0;

  Draw draw_;
};

thread_local Block current_block;

void Block::run_fibre() {
  for (;;) {
    Block& block = current_block;
    (*block.body_)();
    block.fibres_[block.current_]->ended = true;
    --block.running_;
    ++block.progress_;
    block.yield();
  }
}

}  // namespace

void run(dim3 grid, dim3 block, const std::function<void()>& body) {
  require(grid.x >= 1 && grid.y >= 1 && grid.z >= 1 && grid.y < 65536 && grid.z < 65536,
          "a grid of ({}, {}, {}) blocks", grid.x, grid.y, grid.z);
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) current_block.run(grid, block, {x, y, z}, body);
}

void meet_block() {
  current_block.meet_block(false);
}

int count_block(bool vote) {
  current_block.meet_block(vote);
  return current_block.counted();
}

const uint64_t* meet_warp(unsigned mask, uint64_t word, WarpWork work) {
  return current_block.meet_warp(mask, word, work);
}

int lane() {
  return current_block.lane();
}

}  // namespace spire::emulation
