#include "engine/update/gradient_reduction.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/base/thread.h"
#include "engine/device/lane_team.h"

// On GPUs a completed bucket is an event in the lane's stream, for which the streams that add it up
// wait; on CPUs the counts below are enough. The exchange thread has a stream of its own, on one of
// the lanes' devices.

namespace spire {
namespace {

// break_up() adds this to a count of lanes: the count passes every value that a lane waits for.
constexpr uint32_t released = 1u << 30;

// 128 KiB of each term: still in the cache when it is squared.
constexpr int64_t chunks_per_slice = 8;

// Release: what this thread wrote before is visible to the threads that see the new count. Acquire:
// the last of several lanes sees what the others wrote.
void add_and_notify(std::atomic<uint32_t>& word, uint32_t count) {
  word.fetch_add(count, std::memory_order_acq_rel);
  word.notify_all();
}

// Waits until the count is at least `least`. The acquire pairs with add_and_notify(). A count may
// change without reaching `least`, so each change is a new wait.
void wait_until(const std::atomic<uint32_t>& word, uint32_t least) {
  for (uint32_t seen; (seen = word.load(std::memory_order_acquire)) < least;)
    wait_while_equal(word, seen);
}

}  // namespace

std::vector<TowerRange> GradientReduction::member_nodes(Reduction order, int towers,
                                                        TowerRange range) {
  if (order == Reduction::native) return {range};
  return nodes_inside(towers, range);
}

GradientReduction::Leaves GradientReduction::leaves_of(TowerRange node,
                                                       const std::vector<NodeBuffer>& buffers) {
  Leaves leaves;
  for (const NodeBuffer& buffer : buffers) {
    if (buffer.node.begin >= node.begin && buffer.node.end <= node.end) leaves.push_back(&buffer);
  }
  return leaves;
}

// Returns the first leaf whose memory the device can send and receive; null if there is none. On
// CPUs all memory is the host's.
const NodeBuffer* GradientReduction::leaf_on(DeviceId device, const Leaves& leaves) {
  auto found = std::find_if(leaves.begin(), leaves.end(), [&](const NodeBuffer* leaf) {
    return device.kind == DeviceKind::cpu || leaf->device == device;
  });
  return found == leaves.end() ? nullptr : *found;
}

int64_t GradientReduction::floats(const BucketReducer::Options& options) {
  return options.buckets.empty() ? 0 : options.buckets.back().end;
}

size_t GradientReduction::exchange_bytes(const BucketReducer::Options& options, int rank,
                                         const std::vector<NodeBuffer>& buffers, DeviceId device) {
  size_t bytes = BucketReducer::staging_bytes(options, rank);
  for (TowerRange node : options.ranks.towers[static_cast<size_t>(rank)]) {
    if (!leaf_on(device, leaves_of(node, buffers)))
      bytes += static_cast<size_t>(floats(options)) * sizeof(float);
  }
  return bytes;
}

// Returns the buffer that receives a node's sum. Sums that are exchanged must lie on the exchanging
// device, so the lanes add up straight into its memory.
float* GradientReduction::place_of(const Leaves& leaves, bool exchanged) {
  if (!exchanged) return leaves.front()->data;
  if (const NodeBuffer* leaf = leaf_on(options_.memory->device(), leaves)) return leaf->data;
  auto bytes = static_cast<size_t>(floats(options_.exchange)) * sizeof(float);
  staged_.push_back(options_.memory->allocate(MemoryKind::communication, bytes));
  return staged_.back()->as<float>();
}

GradientReduction::GradientReduction(const Options& options, const std::vector<NodeBuffer>& buffers,
                                     Communicator* exchange, ThreadStatus& status)
    : options_(options), status_(status), lanes_(options.streams.size()) {
  const auto& ranks = options_.exchange;
  bool exchanged = exchange && exchange->size() > 1;
  TowerRange own{buffers.front().node.begin, buffers.back().node.end};
  // Each node of the member is a tree over the buffers of the lanes inside it.
  int depth = 1;
  for (TowerRange node : member_nodes(ranks.order, ranks.towers, own)) {
    Leaves leaves = leaves_of(node, buffers);
    std::vector<TreeSum::Leaf> terms;
    for (const NodeBuffer* leaf : leaves) terms.push_back({leaf->node, leaf->data, 0});
    nodes_.push_back({TreeSum(ranks.order, node, terms), place_of(leaves, exchanged)});
    depth = std::max(depth, nodes_.back().tree.depth());
  }
  for (size_t l = 0; l < lanes_.size(); ++l) {
    Lane& lane = lanes_[l];
    lane.stream = options_.streams[l];
    lane.arithmetic = make_lane_arithmetic(*lane.stream, depth);
    lane.end = lane.stream->make_event();
    if (options_.sum_in_update)
      lane.scratch = Buffer(static_cast<size_t>(TreeSum::chunk * (1 + depth)) * sizeof(float));
    for (size_t b = 0; b < buckets().size(); ++b) lane.arrival.push_back(lane.stream->make_event());
  }
  arrived_ = std::make_unique<std::atomic<uint32_t>[]>(buckets().size());
  summed_ = std::make_unique<std::atomic<uint32_t>[]>(buckets().size());
  require(!exchanged || !options_.sum_in_update, "sums of several members in the update");
  if (exchanged) make_exchange(*exchange);
}

void GradientReduction::make_exchange(Communicator& exchange) {
  for (Lane& lane : lanes_) {
    for (size_t b = 0; b < buckets().size(); ++b) lane.share.push_back(lane.stream->make_event());
  }
  std::vector<float*> data;
  for (const auto& node : nodes_) data.push_back(node.data);
  exchange_stream_ = make_stream(options_.memory->device());
  exchange_arithmetic_ = make_lane_arithmetic(*exchange_stream_, 1);
  exchange_end_ = exchange_stream_->make_event();
  exchange_.emplace(options_.exchange, data, exchange, *exchange_stream_, *options_.memory, status_,
                    thread_row());
  squares_exchange_.emplace(options_.exchange.chunk_shards(options_.trained), &exchange,
                            sizeof(double));
  thread_ = start_thread({"exchange", options_.exchange_cores}, [this] { run_exchange(); });
}

GradientReduction::~GradientReduction() {
  break_up();
  quit_.store(true);
  add_and_notify(generation_, 1);
}

void GradientReduction::begin_step() {
  require(!broken_.load(), "a step after one that failed");
  // Relaxed: no lane works now, and the barrier that starts the lanes publishes these stores. The
  // exchange thread sees them by the release of generation_.
  for (size_t b = 0; b < buckets().size(); ++b) {
    arrived_[b].store(0, std::memory_order_relaxed);
    summed_[b].store(0, std::memory_order_relaxed);
  }
  for (Lane& lane : lanes_) lane.arrived = lane.summed = 0;
  exchanged_.store(0, std::memory_order_relaxed);
  if (exchange_) add_and_notify(generation_, 1);
}

void GradientReduction::arrive(int lane, int64_t ready) {
  Lane& state = lane_at(lane);
  size_t before = state.arrived;
  while (state.arrived < buckets().size() && buckets()[state.arrived].end <= ready) {
    size_t b = state.arrived++;
    // The event is recorded before the count grows: a lane that sees all arrivals may wait for it.
    state.stream->record(*state.arrival[b]);
    // Waiters want all lanes, so only the last one wakes them.
    if (arrived_[b].fetch_add(1, std::memory_order_acq_rel) + 1 != lanes_.size()) continue;
    arrived_[b].notify_all();
  }
  if (options_.sum_in_update && broken_.load()) throw BarrierBroken{};
  if (state.arrived > before && !options_.sum_in_update) sum_shares(lane, state.arrived, false);
}

void GradientReduction::finish(int lane) {
  if (options_.sum_in_update) return await_towers(lane);
  sum_shares(lane, buckets().size(), true);
  status_.enter(lane, Phase::waiting);
  Span span(lane_at(lane).spans, {SpanKind::wait, "wait for all sums"});
  if (exchange_) {
    wait_until(exchanged_, 1);
    // exchanged_ may hold `released` alone; error_ is written only when the thread added its 1.
    bool done = exchanged_.load(std::memory_order_acquire) % released == 1;
    if (done && error_) std::rethrow_exception(error_);
    lane_at(lane).stream->wait_for(*exchange_end_);
  } else if (!buckets().empty()) {
    wait_until(summed_[buckets().size() - 1], static_cast<uint32_t>(lanes_.size()));
  }
  if (broken_.load()) throw BarrierBroken{};
  wait_for_others(lane, [](const Lane& other) -> Event& { return *other.end; });
}

// With the last bucket a lane has completed all.
void GradientReduction::await_towers(int lane) {
  if (buckets().empty()) return;
  Span span(lane_at(lane).spans, {SpanKind::wait, "wait for all towers"});
  status_.enter(lane, Phase::waiting);
  wait_until(arrived_[buckets().size() - 1], static_cast<uint32_t>(lanes_.size()));
  if (broken_.load()) throw BarrierBroken{};
}

const float* GradientReduction::sum_chunk(int lane, FloatRange chunk) {
  if (!options_.sum_in_update) return sums() + chunk.begin;
  auto* scratch = lane_at(lane).scratch.as<float>();
  const float* sum =
      nodes_.front().tree.sum(chunk.begin, chunk.size(), scratch, scratch + TreeSum::chunk);
  int64_t trained = std::min(chunk.end, options_.trained) - chunk.begin;
  if (trained > 0)
    options_.chunk_squares[chunk.begin / TreeSum::chunk] = sum_of_squares(sum, trained);
  return sum;
}

void GradientReduction::break_up() {
  broken_.store(true);
  if (released_.exchange(true)) return;  // four additions of 2^30 would wrap around to none
  for (size_t b = 0; b < buckets().size(); ++b) {
    add_and_notify(arrived_[b], released);
    add_and_notify(summed_[b], released);
  }
  if (exchange_) add_and_notify(exchanged_, released);
}

// Adds up this lane's share of the buckets before `until`, in order. Without `wait` it stops at the
// first bucket that some lane has not completed.
void GradientReduction::sum_shares(int lane, size_t until, bool wait) {
  auto all = static_cast<uint32_t>(lanes_.size());
  Lane& state = lane_at(lane);
  for (; state.summed < until; ++state.summed) {
    size_t b = state.summed;
    if (wait) {
      Span span(state.spans, {SpanKind::wait, "wait for bucket", static_cast<int64_t>(b)});
      status_.enter(lane, Phase::waiting, static_cast<int64_t>(b));
      wait_until(arrived_[b], all);
      status_.enter(lane, Phase::bucket, static_cast<int64_t>(b));
    }
    uint32_t arrived = arrived_[b].load(std::memory_order_acquire);
    if (arrived < all) return;
    if (arrived >= released) throw BarrierBroken{};
    wait_for_others(lane, [b](const Lane& other) -> Event& { return *other.arrival[b]; });
    Span span(state.spans, {SpanKind::bucket, "add up bucket", static_cast<int64_t>(b)});
    sum_share(lane, b);
    if (exchange_) state.stream->record(*state.share[b]);
    if (b + 1 == buckets().size()) state.stream->record(*state.end);
    bucket_summed(b);
  }
}

void GradientReduction::bucket_summed(size_t b) {
  if (summed_[b].fetch_add(1, std::memory_order_acq_rel) + 1 != lanes_.size()) return;
  summed_[b].notify_all();
}

// Makes the lane's stream wait for that event of every other lane.
template <typename Point>
void GradientReduction::wait_for_others(int lane, Point point) {
  Lane& own = lane_at(lane);
  for (const Lane& other : lanes_) {
    if (&other != &own) own.stream->wait_for(point(other));
  }
}

void GradientReduction::sum_share(int lane, size_t bucket) {
  int index = lane - options_.first_lane;
  FloatRange share = share_of(buckets()[bucket], index, index + 1, static_cast<int>(lanes_.size()));
  LaneArithmetic& arithmetic = *lane_at(lane).arithmetic;
  // A CPU squares a sum while it is in the cache; a GPU takes the share by one kernel each.
  bool on_cpu = lane_at(lane).stream->device().kind == DeviceKind::cpu;
  int64_t slice = on_cpu ? chunks_per_slice * TreeSum::chunk : share.size();
  for (FloatRange part = share; part.begin < share.end; part.begin += slice) {
    part.end = std::min(share.end, part.begin + slice);
    for (const auto& node : nodes_) arithmetic.sum(node.tree, part, node.data);
    if (!exchange_) square(arithmetic, part);
  }
}

void GradientReduction::square(LaneArithmetic& arithmetic, FloatRange range) {
  range.end = std::min(range.end, options_.trained);
  if (range.size() > 0) arithmetic.square(sums(), range, options_.chunk_squares);
}

// Loop of the exchange thread: one round a step. generation_ counts up at the start of a step, and
// once more at the end with quit_ set.
void GradientReduction::run_exchange() {
  make_current(exchange_stream_->device());
  for (uint32_t seen = 0;; ++seen) {
    wait_while_equal(generation_, seen);
    if (quit_.load()) return;
    try {
      exchange_step();
    } catch (const BarrierBroken&) {  // a lane failed and reports its error itself
    } catch (const PeerLost&) {
      error_ = std::current_exception();
    } catch (const std::exception& error) {
      error_ = std::make_exception_ptr(LaneError(status_.read(thread_row()), error));
    }
    // Stored before exchanged_ grows, so that every lane that wakes sees it.
    if (error_) broken_.store(true);
    add_and_notify(exchanged_, 1);
  }
}

void GradientReduction::exchange_step() {
  if (!options_.overlap && !buckets().empty()) {
    status_.enter(thread_row(), Phase::waiting);
    wait_until(summed_[buckets().size() - 1], static_cast<uint32_t>(lanes_.size()));
  }
  for (size_t b = 0; b < buckets().size(); ++b) {
    status_.enter(thread_row(), Phase::waiting, static_cast<int64_t>(b));
    wait_until(summed_[b], static_cast<uint32_t>(lanes_.size()));
    if (broken_.load()) throw BarrierBroken{};
    // summed_ says that the lanes have enqueued their shares; the events, that these are done.
    for (const Lane& lane : lanes_) exchange_stream_->wait_for(*lane.share[b]);
    Span span(exchange_spans_, {SpanKind::bucket, "exchange bucket", static_cast<int64_t>(b)});
    exchange_->reduce(b);
    square(*exchange_arithmetic_, exchange_->shard(b));
  }
  status_.enter(thread_row(), Phase::waiting);
  // Each member has squared its own shards; all need all chunks for the global norm.
  {  // it ends before exchange_end_, for which the lanes wait
    Span span(exchange_spans_, {SpanKind::bucket, "exchange squares"});
    squares_exchange_->all_gather(options_.chunk_squares, *exchange_stream_);
  }
  status_.enter(thread_row(), Phase::idle);
  exchange_stream_->record(*exchange_end_);
}

}  // namespace spire
