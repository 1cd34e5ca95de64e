#include "engine/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/thread.h"
#include "engine/device/barrier.h"

namespace spire::inline training {

// Memory is freed when no other rank reads it any more.
Trainer::~Trainer() {
  if (members() == 1 || numbers_[0].all_work.empty()) return;
  try {
    for (int lane = 0; lane < team_->size(); ++lane) {
      Event& end = *numbers_[0].all_work[static_cast<size_t>(lane)];
      stream(lane).record(end);
      await(lane, end);
    }
  } catch (const Error&) {
    abort_peers();
  }
}

StepResult Trainer::step(const Batch& batch, int64_t done, double lr, bool stop) {
  begin_step(batch, done, lr, stop);
  return finish_step();
}

// Where the host takes part in a step, it cannot be ahead of it.
int Trainer::max_ahead() const {
  static_assert(std::tuple_size_v<decltype(numbers_)> == ParameterUpdate::max_unseen + 1);
  bool gpus = placement_.lanes[0].device.kind == DeviceKind::cuda;
  return gpus && !placement_.updates_on_host ? static_cast<int>(numbers_.size()) - 1 : 0;
}

void Trainer::begin_step(const Batch& batch, int64_t done, double lr, bool stop) {
  require(!averaged_, "a step before the end of an evaluation");
  require(under_way() <= max_ahead(), "{} steps are under way", under_way());
  StepNumbers& numbers = numbers_of(begun_);
  batch_ = &batch;
  current_ = &numbers;
  numbers.step = done + 1;
  numbers.samples = batch.valid;
  numbers.lr = lr;
  context_.step = done;
  context_.gradient_scale = static_cast<float>(1.0 / static_cast<double>(batch.valid));
  update_step_ = {
      .lr = static_cast<float>(lr), .number = done + 1, .skipped = loss_scale_.state().skipped};
  numbers.stops[static_cast<size_t>(placement_.rank)] = stop;
  board_.begin_step(done + 1);
  for (LocalMember& member : members_) member.reduction->begin_step();
  team_->parallel(step_body_);
  ++begun_;
}

StepResult Trainer::finish_step() {
  require(under_way() > 0, "no step is under way");
  StepNumbers& numbers = numbers_of(finished_);
  current_ = &numbers;
  team_->parallel(await_body_);
  ++finished_;
  share_numbers(numbers);
  auto samples = static_cast<double>(numbers.samples);
  double scale = loss_scale_.value(), norm = numbers.gradient_norm() / scale;
  bool skipped = loss_scale_.on() && !std::isfinite(norm);
  loss_scale_.record(skipped);
  return {.step = numbers.step,
          .samples = numbers.samples,
          .lr = numbers.lr,
          .loss = tree_sum(numbers.sums.loss) / samples,
          .score = tree_sum(numbers.sums.score) / samples,
          .grad_norm = norm,
          .comm_seconds = exposed_seconds(numbers),
          .loss_scale = loss_scale_.on() ? scale : 0.0,
          .skipped = skipped,
          .skipped_steps = loss_scale_.state().skipped,
          .stop = numbers.any_stop()};
}

// The step of one lane; the barriers are its joints with the others.
void Trainer::run_step(int lane) {
  // 1. Its towers: forward, backward; gradients are reduced bucket by bucket while they go on.
  const LaneContext& links = links_[static_cast<size_t>(lane)];
  LocalMember& member = member_of_lane(lane);
  StepContext context = context_;
  DeviceLossScale* loss_scale = loss_scale_of(lane);
  if (loss_scale) context.loss_scale = &loss_scale->state()->scale;
  lanes_[static_cast<size_t>(lane)]->train(*batch_, context, current_->sums, links);
  stream(lane).record(*current_->own_work[static_cast<size_t>(lane)]);
  member.reduction->finish(lane);
  stream(lane).record(*current_->reduced[static_cast<size_t>(lane)]);
  // 2. The weights are updated where the strategy says.
  update(lane);
  if (loss_scale) loss_scale->follow(squares_of(member), stream(lane));
  board_.enter(lane, Phase::waiting);
  meet(lane);
  // 3. They reach every device, and take the forms its kernels read.
  share_weights(lane);
  replicate(lane);
  if (lane == 0 && current_->squares.data() != squares_of(member).data())
    stream(lane).copy(current_->squares.data(), member.squares->data(), member.squares->bytes());
  stream(lane).record(*current_->all_work[static_cast<size_t>(lane)]);
  board_.enter(lane, Phase::idle);
}

void Trainer::update(int lane) {
  int index = placement_.lane_device[static_cast<size_t>(lane)];
  int part = lane - device(index).first_lane;
  auto& update = updates_[static_cast<size_t>(index - local_.begin)];
  if (update) board_.enter(lane, Phase::update);
  ParameterUpdate::Step step = update_step_;
  if (DeviceLossScale* scale = loss_scale_of(lane))
    step.loss_scale = placement_.updates_on_host ? &loss_scale_.state() : scale->state();
  if (optimizer_->layerwise()) {
    if (update) update->measure(part, step, stream(lane));
    share_norms(lane);
  }
  if (update) update->update(part, step, stream(lane));
}

// Null: the precision needs none.
DeviceLossScale* Trainer::loss_scale_of(int lane) {
  if (device_loss_scales_.empty()) return nullptr;
  int index = placement_.lane_device[static_cast<size_t>(lane)];
  return device_loss_scales_[static_cast<size_t>(index - local_.begin)].get();
}

// All lanes, and where weights are sharded all members, have measured.
void Trainer::share_norms(int lane) {
  meet(lane);
  LocalMember& member = member_of_lane(lane);
  if (!member.norm_slices) return;
  if (lane == member.lane)
    member.norm_slices->all_gather(norms_[member.front]->table().data(), stream(lane));
  meet(lane);
}

// To the front replicas of the other members.
void Trainer::share_weights(int lane) {
  if (members() == 1 || mirrored()) return;
  LocalMember& member = member_of_lane(lane);
  float* values = front_of(member).values();
  if (lane == member.lane && placement_.strategy == Strategy::sharded)
    member.weight_slices->all_gather(values, stream(lane));
  if (lane == member.lane && placement_.strategy == Strategy::parameter_device)
    member.weight_slices->broadcast(values, stream(lane), root());
  meet(lane);
}

// From the front replica to the others of its member.
void Trainer::replicate(int lane) {
  int index = placement_.lane_device[static_cast<size_t>(lane)];
  int part = lane - device(index).first_lane, parts = device(index).lanes;
  Replica &replica = replica_of(index), &front = front_of(member_of(index));
  if (&replica != &front && !mirrored()) {
    int64_t total = layout_.total_floats();
    int64_t begin = total * part / parts, end = total * (part + 1) / parts;
    stream(lane).copy(replica.values() + begin, front.values() + begin,
                      static_cast<size_t>(end - begin) * sizeof(float));
  }
  if (replicas_.size() > members_.size() && !mirrored()) meet(lane);
  replica.forms.pack_for_step(replica.values(), part, parts, stream(lane));
}

// A GPU that fails or hangs at what it was given does so here.
void Trainer::await_device(int lane, const StepNumbers& numbers) {
  if (stream(lane).device().kind == DeviceKind::cpu) return;
  board_.enter(lane, Phase::device);
  await(lane, *numbers.own_work[static_cast<size_t>(lane)]);
  if (members() > 1) board_.enter(lane, Phase::waiting);
  await(lane, *numbers.all_work[static_cast<size_t>(lane)]);
  board_.enter(lane, Phase::idle);
}

// What waits for other members may never end, so it is asked about.
void Trainer::await(int lane, const Event& event) {
  Communicator* exchange = member_of_lane(lane).exchange.get();
  if (!exchange) return stream(lane).await(event);
  for (Backoff pauses; !stream(lane).reached(event); pauses.pause()) exchange->check();
}

// As the lane waits that was the last with its towers.
double Trainer::exposed_seconds(const StepNumbers& numbers) {
  double least = std::numeric_limits<double>::infinity();
  for (size_t l = 0; l < streams_.size(); ++l) {
    least =
        std::min(least, streams_[l]->seconds_between(*numbers.own_work[l], *numbers.reduced[l]));
  }
  return least;
}

// Nothing waits for this rank's lanes any more, and they wait for nobody. False where a lane has
// given up before.
bool Trainer::abort_peers() {
  bool first = !peers_aborted_.exchange(true);
  for (LocalMember& member : members_) {
    if (member.reduction) member.reduction->break_up();
    if (member.exchange) member.exchange->abort();
  }
  return first;
}

// Runs the body, and the work that it gave the device.
void Trainer::on_lane(int lane, const std::function<void(int)>& body) {
  guarded(lane, [&](int) {
    body(lane);
    stream(lane).record(*numbers_[0].all_work[static_cast<size_t>(lane)]);
    await_device(lane, numbers_[0]);
  });
}

// A lane that fails releases the others and says where it was.
void Trainer::guarded(int lane, const std::function<void(int)>& body) {
  try {
    body(lane);
  } catch (const BarrierBroken&) {
    throw;
  } catch (const PeerLost&) {
    if (!abort_peers())
      throw BarrierBroken{};  // by the failure of another lane here, which tells it
    throw;
  } catch (const LaneError&) {  // the reduction's thread has said where
    abort_peers();
    throw;
  } catch (const std::exception& error) {
    abort_peers();
    throw LaneError(board_.read(lane), error);
  }
}

// Sums over fixed chunks in a fixed order: the same whoever computed which.
double StepNumbers::gradient_norm() const {
  double sum = 0;
  for (double part : squares) sum += part;
  return std::sqrt(sum);
}

bool StepNumbers::any_stop() const {
  return std::any_of(stops.begin(), stops.end(), [](double stop) { return stop != 0; });
}

// What every process has to know: losses, scores, whether to stop.
void Trainer::share_numbers(StepNumbers& numbers) {
  if (ranks() == 1) return;
  board_.wait(0, [&] { host_all_gather_->share(numbers.shared); });
}

// From the host to all devices.
void Trainer::write_weights(const float* values) {
  for (auto& replica : replicas_) replica->write(values);
  for (auto& update : updates_) {
    if (update) update->weights_written(values);
  }
}

void Trainer::renew_replicas() {
  team_->parallel([this](int lane) { on_lane(lane, [this](int l) { replicate(l); }); });
}

void Trainer::begin_evaluation() {
  if (ema_.on()) swap_average();
  team_->parallel([this](int lane) {
    on_lane(lane, [this](int l) {
      int index = placement_.lane_device[static_cast<size_t>(l)];
      Replica& replica = replica_of(index);
      replica.forms.pack_for_evaluation(replica.values(), l - device(index).first_lane,
                                        device(index).lanes, stream(l));
    });
  });
}

void Trainer::end_evaluation() {
  if (averaged_) swap_average();
}

// Where the weights are updated they are exchanged with their average; this then reaches every
// device as an update would.
void Trainer::swap_average(int lane) {
  int index = placement_.lane_device[static_cast<size_t>(lane)];
  auto& update = updates_[static_cast<size_t>(index - local_.begin)];
  if (update) update->swap_average(lane - device(index).first_lane, stream(lane));
  meet(lane);
  share_weights(lane);
  replicate(lane);
}

void Trainer::swap_average() {
  team_->parallel(swap_body_);
  averaged_ = !averaged_;
}

void Trainer::begin_average() {
  for (auto& update : updates_) {
    if (update) update->begin_average();
  }
}

std::optional<uint64_t> Trainer::average_hash() {
  if (!ema_.on()) return {};
  swap_average();
  uint64_t hash = parameter_hash();
  swap_average();
  return hash;
}

void Trainer::evaluate(const Batch& batch, EvaluationSums& sums, bool stop) {
  require(under_way() == 0, "an evaluation while a step is under way");
  StepNumbers& numbers = numbers_[0];
  batch_ = &batch;
  current_ = &numbers;
  numbers.stops[static_cast<size_t>(placement_.rank)] = stop;
  team_->parallel(evaluate_body_);
  share_numbers(numbers);
  sums.loss += tree_sum(numbers.sums.loss);
  sums.score += tree_sum(numbers.sums.score);
  sums.samples += batch.valid;
  sums.stop = numbers.any_stop();
}

void Trainer::set_weights(
    const std::function<void(const ParameterEntry&, std::span<float>)>& fill) {
  float* values = front().read(host_weights_);
  for (const auto& entry : layout_.entries())
    fill(entry, {values + entry.offset, static_cast<size_t>(entry.elements())});
  write_weights(values);
  begin_average();
  renew_replicas();
}

}  // namespace spire::inline training
