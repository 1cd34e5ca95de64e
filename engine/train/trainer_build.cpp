// What a trainer is made of, put together once before the first step.
#include <algorithm>

#include "engine/train/run_tuning.h"
#include "engine/train/trainer.h"

namespace spire::inline training {
namespace {

// Sample counts of the towers of a dataset's last batch, other than 0 and batch_size.
std::vector<int64_t> ragged_samples(int64_t samples, const Placement& placement) {
  int64_t rest = samples % placement.global_batch() % placement.batch_size;
  return rest == 0 ? std::vector<int64_t>{} : std::vector<int64_t>{rest};
}

// "cpu:0", or "cpu:0 lane 1" where a device has several; then the threads that exchange buckets,
// one a member of this process.
std::vector<std::string> thread_names(const Placement& placement) {
  std::vector<std::string> names;
  for (size_t l = 0; l < placement.lanes.size(); ++l) {
    const auto& device = placement.devices[static_cast<size_t>(placement.lane_device[l])];
    std::string lane = fmt::format(" lane {}", static_cast<int>(l) - device.first_lane);
    names.push_back(to_string(device.id) + (device.lanes > 1 ? lane : ""));
  }
  std::vector<std::string> fronts;
  for (const Member& member : placement.members) {
    if (member.rank == placement.rank)
      fronts.push_back(to_string(placement.devices[static_cast<size_t>(member.front)].id));
  }
  for (const std::string& front : fronts)
    names.push_back(fronts.size() > 1 ? front + " exchange" : "exchange");
  return names;
}

// Of each member, the stretches of a table whose entries it owns.
std::vector<std::vector<FloatRange>> runs_of(const std::vector<int>& owners, int members) {
  std::vector<std::vector<FloatRange>> runs(static_cast<size_t>(members));
  for (size_t i = 0; i < owners.size(); ++i) {
    auto& own = runs[static_cast<size_t>(owners[i])];
    auto at = static_cast<int64_t>(i);
    if (own.empty() || own.back().end != at) own.push_back({at, at});
    ++own.back().end;
  }
  return runs;
}

int64_t floats_of(double mib) {
  return static_cast<int64_t>(mib * 1024 * 1024 / sizeof(float));
}

}  // namespace

ModelInput TrainerOptions::input(int64_t batch, bool training) const {
  return {.columns = training ? train_columns : test_columns,
          .classes = classes,
          .batch = batch,
          .dtype = precision};
}

Trainer::Trainer(const TrainerOptions& options, const Placement& placement, ProcessGroup* group)
    : placement_(placement),
      group_(group),
      local_(placement.devices_of(placement.rank)),
      board_(thread_names(placement)),
      optimizer_(make_optimizer(options.optimizer)),
      ema_(options.ema),
      loss_scale_(options.loss_scale, options.precision == DType::f16) {
  GraphBuilder build = [&](int64_t batch, bool training) {
    return build_model(options.model, options.loss, options.input(batch, training), training);
  };
  layout_ = make_layout(build, placement.batch_size);
  buckets_ = make_buckets(layout_.total_floats(), floats_of(options.bucket.first_mib),
                          floats_of(options.bucket.mib));
  if (placement_.rank == 0) front_ = static_cast<size_t>(placement_.parameter_device);
  team_ = std::make_unique<LaneTeam>(placement_.lanes);
  make_members();
  make_devices(options);
  make_exchanges(options.plan_only);
  if (placement_.rank > 0) share_choices(options.tuning);
  make_lanes(options, build);
  if (placement_.rank == 0) share_choices(options.tuning);
  plan_updates(options);
  choose_snapshot(options.snapshot);
  plan_memory();
  held_ = std::make_unique<HeldState>(layout_, slots());
  if (options.plan_only) return;
  allocate_memory();
  for (LocalMember& member : members_) {
    make_reduction(member);
    make_vectors(member);
  }
  make_slices();
  make_links();
  make_numbers();
  make_updates();
  step_body_ = [this](int lane) { guarded(lane, [this](int l) { run_step(l); }); };
  await_body_ = [this](int lane) { guarded(lane, [this](int l) { await_device(l, *current_); }); };
  evaluate_body_ = [this](int lane) {
    on_lane(lane, [this](int l) {
      lanes_[static_cast<size_t>(l)]->evaluate(*batch_, current_->sums,
                                               links_[static_cast<size_t>(l)]);
      stream(l).record(*current_->own_work[static_cast<size_t>(l)]);
    });
  };
  swap_body_ = [this](int lane) { on_lane(lane, [this](int l) { swap_average(l); }); };
  bool there = front().weights->on_host();
  Buffer copy(there ? 0 : front().weights->bytes());
  float* values = there ? front().values() : copy.as<float>();
  layout_.initialize(options.seed, values);
  write_weights(values);
  begin_average();
  context_.seed = options.seed;
  team_->lead([this] { renew_replicas(); });
}

void Trainer::make_members() {
  for (size_t m = 0; m < placement_.members.size(); ++m) {
    const Member& member = placement_.members[m];
    if (member.rank != placement_.rank) continue;
    LocalMember& local = members_.emplace_back();
    local.index = static_cast<int>(m);
    local.front = static_cast<size_t>(member.front - local_.begin);
    local.lane = device(member.front).first_lane;
  }
}

void Trainer::make_devices(const TrainerOptions& options) {
  std::vector<DeviceId> ids;
  for (int d = local_.begin; d < local_.end; ++d) ids.push_back(device(d).id);
  for (const LocalMember& member : members_) {
    Share share = placed(member).devices;
    connect_devices(std::span(ids).subspan(static_cast<size_t>(share.begin - local_.begin),
                                           static_cast<size_t>(share.size())));
  }
  make_pools(ids, options);
  for (DeviceId id : ids) {
    replicas_.push_back(std::make_unique<Replica>(layout_));
    auto first = static_cast<size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
    bool is_first = first == libraries_.size();
    libraries_.push_back(open_cuda_libraries(
        id,
        {.tf32 = options.cuda.tf32,
         .cudnn_attention = options.cuda.attention == CudaConfig::Attention::automatic,
         .tuning = options.tuning},
        is_first ? nullptr : libraries_[first].get()));
  }
  std::vector<Stream*> streams;
  for (const LaneSpec& lane : placement_.lanes) {
    streams_.push_back(make_stream(lane.device));
    streams.push_back(streams_.back().get());
  }
  joint_ = std::make_unique<StreamBarrier>(*team_, streams);
}

void Trainer::make_exchanges(bool plan_only) {
  host_stream_ = make_stream({});
  if (group_ && group_->size() > 1) host_exchange_ = make_device_exchange(*group_, {});
  if (members() == 1 || plan_only) return;
  std::vector<ExchangeEnd> ends;
  for (const LocalMember& member : members_)
    ends.push_back({member.index, device(placed(member).front).id});
  ProcessGroup* group = host_exchange_ ? group_ : nullptr;
  DeviceExchanges exchanges = make_device_exchanges(group, ends, members());
  for (size_t m = 0; m < members_.size(); ++m) members_[m].exchange = std::move(exchanges[m]);
}

// Rank 0 chooses engines as its lanes compile, and the others compile with its choices.
void Trainer::share_choices(Tuning* tuning) {
  bool gpus = placement_.lanes[0].device.kind == DeviceKind::cuda;
  if (tuning && group_ && gpus) share_tuning(*tuning, *group_);
}

// Each lane compiles on its own thread, one after another: kernels are prepared where they will
// run, with that thread's OpenMP team, and replicas' tables of forms are shared.
void Trainer::make_lanes(const TrainerOptions& options, const GraphBuilder& build) {
  lanes_.resize(placement_.lanes.size());
  LaneOptions lane_options;
  lane_options.towers = placement_.towers;
  lane_options.batch_size = placement_.batch_size;
  lane_options.reduction = placement_.reduction;
  lane_options.recompute = options.recompute;
  lane_options.record = options.cuda.graphs && placement_.lanes[0].device.kind == DeviceKind::cuda;
  lane_options.steps_under_way = static_cast<int>(numbers_.size());
  lane_options.buckets = buckets_;
  lane_options.ragged_train = ragged_samples(options.train_samples, placement_);
  lane_options.ragged_eval = ragged_samples(options.test_samples, placement_);
  team_->lead([&] {
    for (size_t l = 0; l < lanes_.size(); ++l) {
      team_->parallel([&](int lane) {
        if (static_cast<size_t>(lane) != l) return;
        LaneOptions mine = lane_options;
        mine.range = placement_.lane_towers[l];
        mine.spec = placement_.lanes[l];
        mine.memory = &pool_of(placement_.lane_device[l]);
        mine.stream = streams_[l].get();
        mine.cuda = libraries_of(placement_.lane_device[l]);
        lanes_[l] = std::make_unique<TowerRunner>(mine, build, layout_,
                                                  replica_of(placement_.lane_device[l]));
      });
    }
    if (options.sample_rows > 0 && placement_.rank == 0)
      sampler_ = std::make_unique<ForwardPass>(
          build(options.sample_rows, false), placement_.lanes[0], layout_,
          replica_of(placement_.lane_device[0]), libraries_of(placement_.lane_device[0]));
  });
}

std::vector<int> Trainer::owners() const {
  std::vector<int> owners(static_cast<size_t>(placement_.towers));
  for (const auto& device : placement_.devices) {
    std::fill(owners.begin() + device.towers.begin, owners.begin() + device.towers.end,
              device.rank);
  }
  std::vector<int> all = owners;
  all.insert(all.end(), owners.begin(), owners.end());
  for (int rank = 0; rank < ranks(); ++rank) all.push_back(rank);
  return all;
}

void Trainer::make_numbers() {
  auto towers = static_cast<size_t>(placement_.towers), ranks_count = static_cast<size_t>(ranks());
  size_t entries = 2 * towers + ranks_count;
  for (StepNumbers& numbers : numbers_) {
    numbers.memory =
        allocate_staging(placement_.lanes[0].device, (entries + chunks()) * sizeof(double));
    auto* at = numbers.memory->as<double>();
    numbers.shared = {at, entries};
    numbers.sums = {numbers.shared.first(towers), numbers.shared.subspan(towers, towers)};
    numbers.stops = numbers.shared.subspan(2 * towers);
    const DeviceMemory& squares = *members_.front().squares;
    numbers.squares = {squares.on_host() ? squares.as<double>() : at + entries, chunks()};
    for (auto& stream : streams_) {
      numbers.own_work.push_back(stream->make_event(Timing::on));
      numbers.reduced.push_back(stream->make_event(Timing::on));
      numbers.all_work.push_back(stream->make_event());
    }
  }
  host_all_gather_ = std::make_unique<HostAllGather>(owners(), group_);
}

BucketReducer::Options Trainer::exchange_options() const {
  BucketReducer::Options exchange;
  exchange.order = placement_.reduction;
  exchange.towers = placement_.towers;
  exchange.buckets = buckets_;
  exchange.root = root();
  for (const Member& member : placement_.members) {
    exchange.ranks.share.push_back(member.devices);
    exchange.ranks.towers.push_back(
        GradientReduction::member_nodes(placement_.reduction, placement_.towers, member.towers));
  }
  if (mirrored()) exchange.to = SumsTo::everyone;
  if (placement_.strategy == Strategy::sharded) exchange.to = SumsTo::slice_owners;
  return exchange;
}

std::vector<NodeBuffer> Trainer::node_buffers(const LocalMember& member) const {
  std::vector<NodeBuffer> buffers;
  for (size_t l = 0; l < lanes_.size(); ++l) {
    if (&member_of(placement_.lane_device[l]) != &member) continue;
    auto nodes = lanes_[l]->nodes();
    buffers.insert(buffers.end(), nodes.begin(), nodes.end());
  }
  return buffers;
}

void Trainer::make_reduction(LocalMember& member) {
  GradientReduction::Options reduction;
  reduction.exchange = exchange_options();
  reduction.memory = pools_[member.front].get();
  reduction.trained = layout_.trained_floats();
  reduction.chunk_squares = squares_of(member).data();
  reduction.first_lane = device(placed(member).devices.begin).first_lane;
  reduction.thread_row = team_->size() + static_cast<int>(&member - members_.data());
  for (int l = reduction.first_lane; l < team_->size(); ++l) {
    if (&member_of_lane(l) == &member) reduction.streams.push_back(&stream(l));
  }
  reduction.exchange_cores = placement_.helper_cores;
  reduction.overlap = lanes_.front()->tower_sums().empty();
  member.reduction = std::make_unique<GradientReduction>(reduction, node_buffers(member),
                                                         member.exchange.get(), board_);
}

// The member that has each chunk of the gradients' sum, and so knows its square.
std::vector<int> Trainer::chunk_owners() const {
  std::vector<int> owners(chunks());
  auto slices = exchange_options().chunk_slices(layout_.trained_floats());
  for (size_t rank = 0; rank < slices.size(); ++rank) {
    for (FloatRange own : slices[rank])
      std::fill(owners.begin() + own.begin, owners.begin() + own.end, static_cast<int>(rank));
  }
  return owners;
}

void Trainer::make_slices() {
  std::vector<std::vector<FloatRange>> of_ranks, of_members;
  for (int rank = 0; rank < ranks(); ++rank)
    of_ranks.push_back(slices_of(placement_.devices_of(rank)));
  for (const Member& member : placement_.members) of_members.push_back(slices_of(member.devices));
  state_slices_ = std::make_unique<ShardExchange>(of_ranks, host_exchange_.get());
  for (LocalMember& member : members_)
    member.weight_slices = std::make_unique<ShardExchange>(of_members, member.exchange.get());
}

void Trainer::make_vectors(LocalMember& member) {
  CrossTowerSums::Options vectors{.counts = lanes_.front()->tower_sums(),
                                  .rank_towers = {},
                                  .memory = pools_[member.front].get(),
                                  .joint = joint_.get(),
                                  .lane = member.lane,
                                  .stream = &stream(member.lane),
                                  .exchange = member.exchange.get()};
  for (const Member& each : placement_.members) vectors.rank_towers.push_back(each.towers);
  if (!vectors.counts.empty()) member.vectors = std::make_unique<CrossTowerSums>(vectors);
}

void Trainer::make_links() {
  for (int lane = 0; lane < team_->size(); ++lane) {
    LocalMember& member = member_of_lane(lane);
    links_.push_back({lane, &board_, member.reduction.get(), member.vectors.get()});
  }
}

// A share's part of every bucket.
std::vector<FloatRange> Trainer::slices_of(Share share) const {
  std::vector<FloatRange> slices;
  for (FloatRange bucket : buckets_) {
    FloatRange slice = share_of(bucket, share.begin, share.end, share.of);
    if (slice.size() > 0) slices.push_back(slice);
  }
  return slices;
}

// A device that updates everything measures for itself; those that share the weights of a member
// share a table, too.
void Trainer::make_norms(const std::vector<WeightSpan>& spans) {
  for (int d = local_.begin; d < local_.end; ++d) {
    norms_.push_back(mirrored() || is_front(d) ? std::make_unique<TensorNorms>(spans) : nullptr);
  }
  if (placement_.strategy != Strategy::sharded || members() == 1) return;
  for (LocalMember& member : members_) {
    auto owners = norms_[member.front]->owners(chunk_owners());
    member.norm_slices = std::make_unique<ShardExchange>(runs_of(owners, members()),
                                                         member.exchange.get(), sizeof(double));
  }
}

// What is known of the devices' updates before anything lies anywhere.
void Trainer::plan_updates(const TrainerOptions& trainer) {
  auto spans = weight_spans(trainer.optimizer, optimizer_->layerwise(), layout_);
  if (optimizer_->layerwise()) make_norms(spans);
  for (int d = local_.begin; d < local_.end; ++d) {
    bool all = mirrored() || (placement_.strategy == Strategy::parameter_device &&
                              d == placement_.parameter_device);
    ParameterUpdate::Options options;
    options.optimizer = trainer.optimizer;
    options.ema = trainer.ema;
    options.memory = &pool_of(d);
    options.on_host = placement_.updates_on_host;
    options.host_lanes = placement_.host_lanes;
    options.spans = spans;
    if (all) options.owned = buckets_;
    if (placement_.strategy == Strategy::sharded) options.owned = slices_of({d, d + 1, local_.of});
    options.parts = device(d).lanes;
    options.norms = norms_of(d);
    update_options_.push_back(options);
  }
}

// Updates of `parameter_device` and `sharded` write the front replica, from which the others are
// renewed; those of `mirrored` write their own.
void Trainer::make_updates() {
  for (int d = local_.begin; d < local_.end; ++d) {
    ParameterUpdate::Options& options = update_options_[static_cast<size_t>(d - local_.begin)];
    updates_.push_back(nullptr);
    if (options.owned.empty()) continue;
    LocalMember& member = member_of(d);
    options.squares = squares_of(member);
    options.weights = mirrored() ? replica_of(d).values() : front_of(member).values();
    options.sums = member.reduction->sums();
    updates_.back() = make_parameter_update(options, layout_);
  }
}

}  // namespace spire::inline training
