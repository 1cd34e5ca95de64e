// The speed of Spire's own sum of gradient buffers over all devices at once.
#include <algorithm>

#include "engine/update/gradient_reduction.h"
#include "tools/bench/limits/ceilings.h"

namespace spire {
namespace {

// A gradient buffer a device, and their reduction as in a step with strategy mirrored. CPU devices
// are one member, as they read each other's memory; a GPU is a member of its own, so NCCL connects
// them.
class Sum {
 public:
  Sum(DeviceCrew& crew, Reduction order, const CeilingOptions& options)
      : crew_(crew),
        floats_(options.sum_floats),
        lanes_(crew.size()),
        members_(crew.device(0).kind == DeviceKind::cpu ? 1 : lanes_),
        status_(std::vector<std::string>(static_cast<size_t>(lanes_ + members_), "sum")) {
    auto bytes = static_cast<size_t>(floats_) * sizeof(float);
    for (int lane = 0; lane < lanes_; ++lane)
      buffers_.push_back(crew.pool(lane).allocate(MemoryKind::gradients, bytes));
    crew.run([&](int lane) {
      crew.stream(lane).fill_zero(buffers_[static_cast<size_t>(lane)]->data(), bytes);
    });
    connect();
    BucketReducer::Options exchange = exchange_options(order, options.bucket_floats);
    for (int member = 0; member < members_; ++member) add_member(exchange, member);
  }

  void begin() {
    for (auto& reduction : reductions_) reduction->begin_step();
  }
  void run(int lane) {
    GradientReduction& reduction = *reductions_[static_cast<size_t>(lane / lanes_per_member())];
    reduction.arrive(lane, floats_);
    reduction.finish(lane);
  }

 private:
  int lanes_per_member() const { return lanes_ / members_; }

  void connect() {
    if (members_ == 1) return;
    std::vector<ExchangeEnd> ends;
    for (int lane = 0; lane < lanes_; ++lane) ends.push_back({lane, crew_.device(lane)});
    communicators_ = make_device_exchanges(nullptr, ends, members_);
  }

  BucketReducer::Options exchange_options(Reduction order, int64_t bucket_floats) const {
    BucketReducer::Options exchange{.order = order,
                                    .towers = lanes_,
                                    .buckets = make_buckets(floats_, bucket_floats, bucket_floats),
                                    .ranks = {},
                                    .to = SumsTo::everyone};
    for (int member = 0; member < members_; ++member) {
      int first = member * lanes_per_member(), end = first + lanes_per_member();
      exchange.ranks.share.push_back({first, end, lanes_});
      exchange.ranks.towers.push_back(GradientReduction::member_nodes(order, lanes_, {first, end}));
    }
    return exchange;
  }

  void add_member(const BucketReducer::Options& exchange, int member) {
    int first = member * lanes_per_member();
    auto chunks = static_cast<size_t>(TreeSum::chunks_of(floats_));
    squares_.push_back(crew_.pool(first).allocate(MemoryKind::workspace, chunks * sizeof(double)));
    GradientReduction::Options options;
    options.exchange = exchange;
    options.memory = &crew_.pool(first);
    options.trained = floats_;
    options.chunk_squares = squares_.back()->as<double>();
    options.first_lane = first;
    options.thread_row = lanes_ + member;
    std::vector<NodeBuffer> nodes;
    for (int lane = first; lane < first + lanes_per_member(); ++lane) {
      options.streams.push_back(&crew_.stream(lane));
      nodes.push_back(
          {{lane, lane + 1}, buffers_[static_cast<size_t>(lane)]->as<float>(), crew_.device(lane)});
    }
    Communicator* communicator =
        communicators_.empty() ? nullptr : communicators_[static_cast<size_t>(member)].get();
    reductions_.push_back(
        std::make_unique<GradientReduction>(options, nodes, communicator, status_));
  }

  DeviceCrew& crew_;
  const int64_t floats_;
  const int lanes_, members_;
  ThreadStatus status_;
  // In this order: a communicator is closed before the buffers from which others receive.
  std::vector<std::unique_ptr<DeviceMemory>> buffers_, squares_;
  DeviceExchanges communicators_;
  std::vector<std::unique_ptr<GradientReduction>> reductions_;
};

}  // namespace

double all_reduce_bytes_per_s(DeviceCrew& crew, const CeilingOptions& options) {
  double best = 0, devices = crew.size();
  for (Reduction order : {Reduction::invariant, Reduction::native}) {
    Sum sum(crew, order, options);
    double seconds = crew.best_seconds(
        options.repeats, [&] { sum.begin(); }, [&](int lane) { sum.run(lane); });
    double bytes = static_cast<double>(options.sum_floats) * sizeof(float);
    best = std::max(best, 2 * (devices - 1) / devices * bytes / seconds);
  }
  return best;
}

}  // namespace spire
