// The speed of Spire's own sum of gradient buffers over all devices at once.
#include <algorithm>

#include "engine/update/bucket_exchange.h"
#include "engine/update/ownership.h"
#include "tools/bench/limits/ceilings.h"

namespace spire {
namespace {

// A gradient buffer a device, and their reduction as in a step with strategy mirrored. CPU devices
// are one member, as they read each other's memory; a GPU is a member of its own, so NCCL connects
// them.
class Sum {
 public:
  Sum(DeviceTeam& team, Reduction order, const CeilingOptions& options)
      : team_(team),
        floats_(options.sum_floats),
        lanes_(team.size()),
        members_(team.device(0).kind == DeviceKind::cpu ? 1 : lanes_),
        status_(std::vector<std::string>(static_cast<size_t>(lanes_ + members_), "sum")) {
    auto bytes = static_cast<size_t>(floats_) * sizeof(float);
    for (int lane = 0; lane < lanes_; ++lane)
      buffers_.push_back(team.pool(lane).allocate(MemoryKind::gradients, bytes));
    team.run([&](int lane) {
      team.stream(lane).fill_zero(buffers_[static_cast<size_t>(lane)]->data(), bytes);
    });
    connect();
    who_ = ownership(order, options.bucket);
    for (int member = 0; member < members_; ++member) add_member(member);
  }

  void begin() {
    for (auto& exchange : exchanges_) exchange->begin_step();
  }
  void run(int lane) {
    if (exchanges_.empty())
      return sums_.front()->sum(lane, share_of({0, floats_}, lane, lane + 1, lanes_));
    BucketExchange& exchange = *exchanges_[static_cast<size_t>(lane)];
    exchange.gradients_ready(lane, floats_);
    exchange.finish(lane);
  }

 private:
  int lanes_per_member() const { return lanes_ / members_; }

  void connect() {
    if (members_ == 1) return;
    std::vector<ExchangeEnd> ends;
    for (int lane = 0; lane < lanes_; ++lane) ends.push_back({lane, team_.device(lane)});
    communicators_ = make_device_exchanges(nullptr, ends, members_);
  }

  Ownership ownership(Reduction order, const BucketConfig& bucket) const {
    Ownership who{.strategy = Strategy::mirrored,
                  .reduction = order,
                  .towers = lanes_,
                  .devices = lanes_,
                  .members = {},
                  .buckets = make_buckets(floats_, bucket),
                  .trained = floats_};
    for (int member = 0; member < members_; ++member) {
      int first = member * lanes_per_member(), end = first + lanes_per_member();
      who.members.push_back({{first, end, lanes_}, {first, end}});
    }
    return who;
  }

  void add_member(int member) {
    int first = member * lanes_per_member();
    auto chunks = static_cast<size_t>(TreeSum::chunks_of(floats_));
    squares_.push_back(team_.pool(first).allocate(MemoryKind::workspace, chunks * sizeof(double)));
    std::vector<NodeBuffer> nodes;
    std::vector<Stream*> streams;
    for (int lane = first; lane < first + lanes_per_member(); ++lane) {
      streams.push_back(&team_.stream(lane));
      nodes.push_back(
          {{lane, lane + 1}, buffers_[static_cast<size_t>(lane)]->as<float>(), team_.device(lane)});
    }
    sums_.push_back(std::make_unique<GradientSums>(who_, member, nodes, streams,
                                                   std::span(squares_.back()->as<double>(), chunks),
                                                   team_.pool(first)));
    if (communicators_.empty()) return;
    BucketExchange::Options options;
    options.first_lane = first;
    options.thread_row = lanes_ + member;
    exchanges_.push_back(std::make_unique<BucketExchange>(
        who_, options, *sums_.back(), *communicators_[static_cast<size_t>(member)],
        team_.pool(first), status_));
  }

  DeviceTeam& team_;
  const int64_t floats_;
  const int lanes_, members_;
  ThreadStatus status_;
  Ownership who_;
  // In this order: a communicator is closed before the buffers from which others receive.
  std::vector<std::unique_ptr<DeviceMemory>> buffers_, squares_;
  DeviceExchanges communicators_;
  std::vector<std::unique_ptr<GradientSums>> sums_;
  std::vector<std::unique_ptr<BucketExchange>> exchanges_;  // empty: one member
};

}  // namespace

double all_reduce_bytes_per_s(DeviceTeam& team, const CeilingOptions& options) {
  double best = 0, devices = team.size();
  for (Reduction order : {Reduction::invariant, Reduction::native}) {
    Sum sum(team, order, options);
    double seconds = team.best_seconds(
        options.repeats, [&] { sum.begin(); }, [&](int lane) { sum.run(lane); });
    double bytes = static_cast<double>(options.sum_floats) * sizeof(float);
    best = std::max(best, 2 * (devices - 1) / devices * bytes / seconds);
  }
  return best;
}

}  // namespace spire
