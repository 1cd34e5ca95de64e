#include "tools/bench/limits/ceilings.h"

#include <algorithm>

#include <unistd.h>

#include <spire/error.h>
#include <spire/packing.h>
#include <spire/random_stream.h>

#include "engine/update/bucket_exchange.h"
#include "engine/update/ownership.h"
#include "kernels/kernel.h"
#include "kernels/ops/dense/dense.h"
#include "kernels/ops/matmul/matmul.h"

namespace spire {

// The speed of Spire's own sum of gradient buffers over all devices at once.

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
    std::vector<PeerRange> peers;
    for (int lane = 0; lane < lanes_; ++lane) {
      ends.push_back({lane, team_.device(lane)});
      peers.push_back({lane, lane + 1});
    }
    communicators_ = make_nccl_exchanges(nullptr, ends, peers);
  }

  Ownership ownership(Reduction order, const BucketConfig& bucket) const {
    Ownership who{.strategy = Strategy::mirrored,
                  .reduction = order,
                  .towers = lanes_,
                  .devices = lanes_,
                  .members = {},
                  .buckets = make_buckets(floats_, bucket, team_.device(0).kind, members_),
                  .trained = floats_};
    for (int member = 0; member < members_; ++member) {
      int first = member * lanes_per_member(), end = first + lanes_per_member();
      who.members.push_back({{first, end, lanes_}, {first, end}, {member, member + 1}});
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

// The speed of Spire's own matrix products on all devices at once.

namespace {

template <typename T>
std::vector<T> random_values(size_t count) {
  RandomStream random(0, Purpose::synthetic);
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = random.uniform(i) - 0.5f;
  return values;
}

// Writes a period of random values again and again: zeros would take less power, and so less time.
template <typename T>
void fill_with(DeviceMemory& memory) {
  constexpr size_t period = 65536;
  std::vector<T> values = random_values<T>(std::min(period, memory.bytes() / sizeof(T)));
  size_t bytes = values.size() * sizeof(T);
  for (size_t at = 0; at < memory.bytes(); at += bytes)
    memory.write(values.data(), std::min(bytes, memory.bytes() - at), at);
}

void fill(DeviceMemory& memory, DType dtype) {
  if (dtype == DType::bf16) return fill_with<bfloat16>(memory);
  if (dtype == DType::f16) return fill_with<float16>(memory);
  fill_with<float>(memory);
}

// One product on one device: the op's kernel and its tensors. Made and run on the device's lane.
class Product {
 public:
  Product(DeviceTeam& team, int lane, const Op& op, const std::vector<TensorSpec>& inputs)
      : stream_(team.stream(lane).native()) {
    std::vector<TensorSpec> outputs = op.infer(inputs);
    kernel_ = make_kernel(op, {.inputs = inputs,
                               .outputs = outputs,
                               .device = team.device(lane),
                               .cuda = team.libraries(lane)});
    MemoryPool& pool = team.pool(lane);
    for (const TensorSpec& spec : inputs) {
      memory_.push_back(pool.allocate(MemoryKind::activations, spec.bytes()));
      fill(*memory_.back(), spec.dtype);
      inputs_.push_back(memory_.back()->data());
    }
    for (const Packing& packing : kernel_.packings()) pack(pool, packing);
    memory_.push_back(pool.allocate(MemoryKind::activations, outputs[0].bytes()));
    output_ = memory_.back()->data();
    if (kernel_.workspace_bytes() == 0) return;
    memory_.push_back(pool.allocate(MemoryKind::workspace, kernel_.workspace_bytes()));
    workspace_ = memory_.back()->data();
  }

  void run() {
    kernel_.run(
        {.inputs = inputs_, .outputs = {&output_, 1}, .workspace = workspace_, .stream = stream_});
  }

 private:
  void pack(MemoryPool& pool, const Packing& packing) {
    memory_.push_back(pool.allocate(MemoryKind::weights, packing.bytes));
    const void*& input = inputs_[static_cast<size_t>(packing.input)];
    packing.pack(static_cast<const float*>(input), memory_.back()->data(), stream_);
    input = memory_.back()->data();
  }

  void* stream_;
  Kernel kernel_;
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  std::vector<const void*> inputs_;
  void* output_ = nullptr;
  void* workspace_ = nullptr;
};

double flops_per_s(DeviceTeam& team, const Op& op, const std::vector<TensorSpec>& inputs,
                   const Repeats& repeats) {
  std::vector<std::unique_ptr<Product>> products(static_cast<size_t>(team.size()));
  team.run([&](int lane) {
    products[static_cast<size_t>(lane)] = std::make_unique<Product>(team, lane, op, inputs);
  });
  double seconds =
      team.best_seconds(repeats, [&](int lane) { products[static_cast<size_t>(lane)]->run(); });
  auto multiply_adds = static_cast<double>(op.multiply_adds(inputs, op.infer(inputs)));
  return 2 * multiply_adds * team.size() / seconds;
}

}  // namespace

// A dense layer reads weights that are packed beforehand, a product of activations packs by itself.
double product_flops_per_s(DeviceTeam& team, DType dtype, const CeilingOptions& options) {
  double best = 0;
  for (const auto& [rows, columns, depth] : options.products) {
    TensorSpec x{{rows, depth}, dtype};
    best = std::max(best, flops_per_s(team, DenseOp(DenseAttributes{}),
                                      {x, {{columns, depth}, DType::f32}}, options.repeats));
    best = std::max(best, flops_per_s(team, MatmulOp(MatmulAttributes{}),
                                      {x, {{depth, columns}, dtype}}, options.repeats));
  }
  return best;
}

namespace {

constexpr int64_t mebi = int64_t{1} << 20;

// Bytes; a typical size where the system does not know it.
int64_t last_level_cache() {
  int64_t bytes = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
  return bytes > 0 ? bytes : 32 * mebi;
}

int64_t free_bytes(Kind kind) {
  DeviceId first{kind == Kind::cuda ? DeviceKind::cuda : DeviceKind::cpu, 0};
  DeviceSpace space = space_of(first);
  return static_cast<int64_t>(space.free.value_or(space.total));
}

// Returns whether a device computes in this dtype, by the same rule as a run's check.
bool computes(DeviceId device, DType dtype) {
  try {
    expect_precision(device, dtype);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool all_compute(DeviceTeam& team, DType dtype) {
  for (int lane = 0; lane < team.size(); ++lane)
    if (!computes(team.device(lane), dtype)) return false;
  return true;
}

}  // namespace

CeilingOptions default_ceiling_options(Kind kind, int64_t devices, const RunConfig& config) {
  CeilingOptions options;
  options.tf32 = config.cuda.tf32;
  if (kind == Kind::cuda) {
    options.products = {{4096, 4096, 4096}, {8192, 8192, 4096}, {8192, 8192, 8192}};
    options.copy_bytes = std::min(1024 * mebi, free_bytes(kind) / 8) * devices;
  } else {
    options.device_threads = config.tower_threads.value_or(1);
    int64_t threads = devices * options.device_threads;
    options.products = {{512, 512, 512}, {1024, 1024, 1024}, {2048, 1024, 1024}};
    options.copy_bytes =
        std::min(std::max(last_level_cache(), 64 * mebi * threads), free_bytes(kind) / 8);
  }
  options.sum_floats = 16 * mebi;
  options.bucket = config.bucket;
  return options;
}

double copy_bytes_per_s(DeviceTeam& team, const CeilingOptions& options) {
  size_t bytes = static_cast<size_t>(options.copy_bytes) / static_cast<size_t>(team.size());
  std::vector<std::unique_ptr<DeviceMemory>> from, to;
  for (int lane = 0; lane < team.size(); ++lane) {
    from.push_back(team.pool(lane).allocate(MemoryKind::workspace, bytes));
    to.push_back(team.pool(lane).allocate(MemoryKind::workspace, bytes));
  }
  // A page that was never written is no memory: all such pages are one.
  team.run([&](int lane) {
    team.stream(lane).fill_zero(from[static_cast<size_t>(lane)]->data(), bytes);
  });
  double seconds = team.best_seconds(options.repeats, [&](int lane) {
    auto l = static_cast<size_t>(lane);
    team.stream(lane).copy(to[l]->data(), from[l]->data(), bytes);
  });
  return 2 * static_cast<double>(bytes) * team.size() / seconds;
}

Ceilings measure_ceilings(Kind kind, int64_t devices, const CeilingOptions& options) {
  DeviceTeam team(kind, devices, options.device_threads, {.tf32 = options.tf32});
  Ceilings ceilings{.kind = kind, .devices = devices, .threads = team.size() / devices};
  auto products = [&](DType dtype) {
    return all_compute(team, dtype) ? product_flops_per_s(team, dtype, options) : 0.0;
  };
  ceilings.fp32_flops_per_s = products(DType::f32);
  ceilings.bf16_flops_per_s = products(DType::bf16);
  ceilings.fp16_flops_per_s = products(DType::f16);
  ceilings.copy_bytes_per_s = copy_bytes_per_s(team, options);
  if (devices == 1) return ceilings;
  DeviceTeam adders(kind, devices);
  ceilings.all_reduce_bytes_per_s = all_reduce_bytes_per_s(adders, options);
  return ceilings;
}

Roofline roofline_of(const Ceilings& ceilings, double share) {
  return {.fp32 = share * ceilings.fp32_flops_per_s,
          .bf16 = share * ceilings.bf16_flops_per_s,
          .fp16 = share * ceilings.fp16_flops_per_s,
          .bytes_per_s = share * ceilings.copy_bytes_per_s};
}

}  // namespace spire
