#include "engine/update/bucket_exchange.h"

#include <algorithm>

#include "engine/base/fail.h"
#include "engine/base/thread.h"
#include "engine/device/lane_team.h"

// On GPUs a completed bucket is an event in the lane's stream, for which the streams that add it up
// wait; on CPUs the counts below are enough.

namespace spire {
namespace {

// abort_waits() adds this to a count of lanes: the count passes every value that a lane waits for.
constexpr uint32_t released = 1u << 30;

// Release: what this thread wrote before is visible to the threads that see the new count. Acquire:
// the last of several lanes sees what the others wrote.
void add_and_notify(std::atomic<uint32_t>& word, uint32_t count) {
  word.fetch_add(count, std::memory_order_acq_rel);
  word.notify_all();
}

// Waiters want all lanes, so only the last one wakes them.
void count_lane(std::atomic<uint32_t>& word, uint32_t all) {
  if (word.fetch_add(1, std::memory_order_acq_rel) + 1 == all) word.notify_all();
}

// A count may change without reaching `least`, so each change is a new wait.
void wait_until(const std::atomic<uint32_t>& word, uint32_t least) {
  for (uint32_t seen; (seen = word.load(std::memory_order_acquire)) < least;)
    wait_while_equal(word, seen);
}

size_t bytes_of(FloatRange range) {
  return static_cast<size_t>(range.size()) * sizeof(float);
}

// The numbers, floats and bf16, for which a member needs room while it exchanges a bucket.
struct StagedNumbers {
  int64_t floats = 0, halves = 0;
  // The floats come first.
  size_t float_bytes() const { return align_up(static_cast<size_t>(floats) * sizeof(float)); }
  size_t bytes() const {
    return float_bytes() + align_up(static_cast<size_t>(halves) * sizeof(bfloat16));
  }
};

StagedNumbers staged_numbers(const Ownership& who, int member) {
  if (who.uses_all_reduce()) return {};
  int64_t own = 0, largest = 0;
  for (size_t b = 0; b < who.buckets.size(); ++b) {
    own = std::max(own, who.shard(b, member).size());
    largest = std::max(largest, who.buckets[b].size());
  }
  auto halved = [&](int of) {
    return static_cast<int64_t>(std::ranges::count_if(
        who.nodes(of), [&](TowerRange node) { return who.sends_bf16(node); }));
  };
  StagedNumbers staged{.halves = halved(member) * largest};
  PeerRange peers = who.peers_of(member);
  for (int other = 0; other < std::ssize(who.members); ++other) {
    if (peers.has(other) || who.peers_of(other).begin != other) continue;
    staged.floats += own * std::ssize(who.nodes(other));
    staged.halves += own * halved(other);
  }
  return staged;
}

}  // namespace

size_t BucketExchange::staging_bytes(const Ownership& who, int member) {
  return staged_numbers(who, member).bytes();
}

BucketExchange::BucketExchange(const Ownership& who, const Options& options, GradientSums& sums,
                               Communicator& exchange, MemoryPool& memory, ThreadStatus& status)
    : who_(who),
      options_(options),
      sums_(sums),
      exchange_(exchange),
      lanes_sum_(memory.device().kind == DeviceKind::cpu),
      status_(status),
      lanes_(sums.streams().size()),
      buckets_(who.buckets.size()),
      stream_(make_stream(memory.device(), StreamPriority::high)),
      gather_(who.shards_of_members(), &exchange),
      squares_(who.chunks_of_members(), &exchange, sizeof(double)),
      end_(stream_->make_event()) {
  for (size_t l = 0; l < lanes_.size(); ++l) {
    Lane& lane = lanes_[l];
    lane.stream = sums.streams()[l];
    for (size_t b = 0; b < buckets_.size(); ++b) lane.arrival.push_back(lane.stream->make_event());
  }
  StagedNumbers staged = staged_numbers(who_, exchange_.rank());
  staging_ = memory.allocate(MemoryKind::communication, staged.bytes());
  // All messages and trees are planned here, so that a step allocates nothing.
  int depth = lanes_sum_ ? 1 : sums_.depth();
  for (size_t b = 0; b < buckets_.size(); ++b) {
    for (auto& end : buckets_[b].end) end = stream_->make_event();
    if (!lanes_sum_) buckets_[b].summed_for_peers = who_.summed_for_peers(b, exchange_.rank());
    if (who_.uses_all_reduce()) continue;
    plan(b, reinterpret_cast<bfloat16*>(staging_->as<std::byte>() + staged.float_bytes()));
    depth = std::max(depth, buckets_[b].tree->depth());
  }
  arithmetic_ = make_lane_arithmetic(*stream_, depth);
  thread_ = start_thread({"exchange", options_.cores}, [this] { run(); });
}

BucketExchange::~BucketExchange() {
  stop();
}

void BucketExchange::stop() {
  if (!thread_.joinable()) return;
  abort_waits();
  quit_.store(true);
  add_and_notify(generation_, 1);
  thread_.join();
  try {
    stream_->synchronize();
  } catch (const std::exception&) {  // a lost device has nothing left to do
  }
}

// A group of peers has sums of its nodes, each peer of the shards that it sums for all of them: its
// own, and those that it sends to members elsewhere. Messages between two members follow the order
// of the sender's nodes. One bucket after another uses the staging memory, in the stream's order.
void BucketExchange::plan(size_t bucket, bfloat16* halves) {
  Bucket& step = buckets_[bucket];
  const int self = exchange_.rank();
  FloatRange own = who_.shard(bucket, self);
  float* staging = staging_->as<float>();
  std::vector<TreeSum::Leaf> leaves;
  // Calls add(data, bytes) for the messages that carry `part` of a node.
  auto plan_messages = [&](TowerRange node, FloatRange part, float* floats,
                           std::vector<Halved>& halved, const auto& add) {
    int64_t count = std::clamp<int64_t>(who_.trained - part.begin, 0, part.size());
    if (!who_.sends_bf16(node)) count = 0;
    if (count > 0) {
      halved.push_back({floats, halves, count});
      add(halves, static_cast<size_t>(count) * sizeof(bfloat16));
      halves += count;
    }
    if (count < part.size()) add(floats + count, bytes_of({part.begin + count, part.end}));
  };
  for (int first = 0; first < exchange_.size(); first = who_.peers_of(first).end) {
    PeerRange group = who_.peers_of(first);
    std::vector<TowerRange> nodes = who_.nodes(first);
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (group.has(self)) {
        leaves.push_back({nodes[n], sums_.nodes()[n], 0});
        continue;
      }
      // Only this member's shard is received, so the leaf's data begins there.
      leaves.push_back({nodes[n], staging, own.begin});
      plan_messages(nodes[n], own, staging, step.widened, [&](void* data, size_t bytes) {
        step.scatter.receives.push_back({group.relay(self), data, bytes});
      });
      staging += own.size();
    }
    if (group.has(self)) continue;
    const std::vector<TowerRange> own_nodes = who_.nodes(self);
    for (int member = group.begin; member < group.end; ++member) {
      if (who_.peers_of(self).relay(member) != self) continue;
      FloatRange part = who_.shard(bucket, member);
      for (size_t n = 0; n < own_nodes.size(); ++n)
        plan_messages(own_nodes[n], part, sums_.nodes()[n] + part.begin, step.narrowed,
                      [&](const void* data, size_t bytes) {
                        step.scatter.sends.push_back({member, data, bytes});
                      });
    }
  }
  step.tree = std::make_unique<TreeSum>(who_.reduction, TowerRange{0, who_.towers}, leaves);
}

void BucketExchange::begin_step(bool overlap) {
  require(!broken_.load(), "a step after one that failed");
  overlap_ = overlap;
  // Relaxed: no lane works now, and the barrier that starts the lanes publishes these stores. The
  // thread sees them by the release of generation_.
  for (Bucket& bucket : buckets_) {
    bucket.arrived.store(0, std::memory_order_relaxed);
    bucket.summed.store(0, std::memory_order_relaxed);
  }
  for (Lane& lane : lanes_) lane.arrived = lane.summed = 0;
  finished_.store(0, std::memory_order_relaxed);
  exchanged_.store(0, std::memory_order_relaxed);
  add_and_notify(generation_, 1);
}

void BucketExchange::gradients_ready(int lane, int64_t ready) {
  Lane& own = lane_at(lane);
  size_t before = own.arrived;
  while (own.arrived < buckets_.size() && who_.buckets[own.arrived].end <= ready) {
    size_t b = own.arrived++;
    // The event is recorded before the count grows: the thread that sees all arrivals waits for it.
    own.stream->record(*own.arrival[b]);
    count_lane(buckets_[b].arrived, all());
  }
  if (lanes_sum_ && own.arrived > before) sum_shares(lane, own.arrived, false);
}

void BucketExchange::finish(int lane) {
  count_lane(finished_, all());
  if (lanes_sum_) sum_shares(lane, buckets_.size(), true);
  status_.enter(lane, Phase::waiting);
  Span span(lane_at(lane).spans, {SpanKind::wait, "wait for all sums"});
  wait_until(exchanged_, 1);
  // exchanged_ may hold `released` alone; error_ is written only when the thread added its 1.
  bool done = exchanged_.load(std::memory_order_acquire) % released == 1;
  if (done && error_) std::rethrow_exception(error_);
  if (broken_.load()) throw BarrierBroken{};
  lane_at(lane).stream->wait_for(*end_);
}

void BucketExchange::abort_waits() {
  broken_.store(true);
  if (released_.exchange(true)) return;  // four additions of 2^30 would wrap around to none
  for (Bucket& bucket : buckets_) {
    add_and_notify(bucket.arrived, released);
    add_and_notify(bucket.summed, released);
  }
  add_and_notify(finished_, released);
  add_and_notify(exchanged_, released);
}

// Adds up this lane's share of the buckets before `until`, in order. Without `wait` it stops at the
// first bucket that some lane has not completed.
void BucketExchange::sum_shares(int lane, size_t until, bool wait) {
  Lane& own = lane_at(lane);
  int index = lane - options_.first_lane;
  for (; own.summed < until; ++own.summed) {
    size_t b = own.summed;
    Bucket& bucket = buckets_[b];
    auto number = static_cast<int64_t>(b);
    if (wait) {
      Span span(own.spans, {SpanKind::wait, "wait for bucket", number});
      status_.enter(lane, Phase::waiting, number + 1);
      wait_until(bucket.arrived, all());
      status_.enter(lane, Phase::bucket, number);
    }
    uint32_t arrived = bucket.arrived.load(std::memory_order_acquire);
    if (arrived < all()) return;
    if (arrived >= released) throw BarrierBroken{};
    Span span(own.spans, {SpanKind::bucket, "add up bucket", number});
    sums_.sum(index, share_of(who_.buckets[b], index, index + 1, static_cast<int>(all())));
    count_lane(bucket.summed, all());
  }
}

// Loop of the thread: one round a step. generation_ counts up at the start of a step, and once more
// at the end with quit_ set.
void BucketExchange::run() {
  make_current(stream_->device());
  for (uint32_t seen = 0;; ++seen) {
    wait_while_equal(generation_, seen);
    if (quit_.load()) return;
    try {
      exchange_all(seen + 1);
    } catch (const BarrierBroken&) {  // a lane failed and reports its error itself
    } catch (const PeerLost&) {
      error_ = std::current_exception();
    } catch (const std::exception& error) {
      error_ = std::make_exception_ptr(LaneError(status_.read(options_.thread_row), error));
    }
    // Stored before exchanged_ grows, so that every lane that wakes sees it.
    if (error_) broken_.store(true);
    add_and_notify(exchanged_, 1);
  }
}

void BucketExchange::exchange_all(uint32_t step) {
  int row = options_.thread_row;
  if (!overlap_) {
    status_.enter(row, Phase::waiting);
    wait_until(finished_, all());
  }
  for (size_t b = 0; b < buckets_.size(); ++b) {
    status_.enter(row, Phase::waiting, static_cast<int64_t>(b) + 1);
    wait_until(lanes_sum_ ? buckets_[b].summed : buckets_[b].arrived, all());
    if (broken_.load()) throw BarrierBroken{};
    // The count says that the lanes have enqueued their work; the events, that it is done.
    for (const Lane& lane : lanes_) stream_->wait_for(*lane.arrival[b]);
    Span span(spans_, {SpanKind::bucket, "exchange bucket", static_cast<int64_t>(b)});
    status_.enter(row, Phase::bucket, static_cast<int64_t>(b));
    reduce(b);
    sums_.square(*arithmetic_, who_.shard(b, exchange_.rank()));
    gather(b);
    stream_->record(*buckets_[b].end[step % 2]);
    status_.enter(row, Phase::idle);
  }
  status_.enter(row, Phase::waiting);
  // Each member has squared its own shards; all need all chunks for the global norm.
  {  // it ends before end_, for which the lanes wait
    Span span(spans_, {SpanKind::bucket, "exchange squares"});
    squares_.all_gather(sums_.squares().data(), *stream_);
  }
  status_.enter(row, Phase::idle);
  stream_->record(*end_);
}

// On return the stream makes the sums of this member's shard; of the whole bucket by an all-reduce.
void BucketExchange::reduce(size_t bucket) {
  Bucket& step = buckets_[bucket];
  auto number = static_cast<int64_t>(bucket);
  auto in_waiting_phase = [&](auto call) {
    status_.enter(options_.thread_row, Phase::waiting, number + 1);
    call();
    status_.enter(options_.thread_row, Phase::bucket, number);
  };
  if (!lanes_sum_) {
    in_waiting_phase([&] { exchange_.meet(*stream_); });
    for (FloatRange range : step.summed_for_peers) sums_.sum(*arithmetic_, range);
  }
  FloatRange whole = who_.buckets[bucket];
  if (!step.tree)
    return in_waiting_phase(
        [&] { exchange_.all_reduce(sums_.sums() + whole.begin, whole.size(), *stream_); });
  for (const Halved& part : step.narrowed)
    arithmetic_->narrow(part.floats, part.count, part.halves);
  // Also without messages: peers call it together.
  if (exchange_.peers(exchange_.rank()).size() < exchange_.size())
    in_waiting_phase(
        [&] { exchange_.exchange(step.scatter.sends, step.scatter.receives, *stream_); });
  for (const Halved& part : step.widened) arithmetic_->widen(part.halves, part.count, part.floats);
  arithmetic_->sum(*step.tree, who_.shard(bucket, exchange_.rank()), sums_.sums());
}

// Sends the sums from the owners of shards to the members that update with them.
void BucketExchange::gather(size_t bucket) {
  if (who_.shards_state() || !buckets_[bucket].tree) return;  // each has what it needs
  FloatRange whole = who_.buckets[bucket];
  float* sums = sums_.sums() + whole.begin;
  status_.enter(options_.thread_row, Phase::waiting, static_cast<int64_t>(bucket) + 1);
  if (who_.updates_every_replica())
    gather_.all_gather(sums, *stream_, whole);
  else
    gather_.gather(sums, *stream_, who_.root, whole);
}

}  // namespace spire
