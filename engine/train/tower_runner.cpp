#include "engine/train/tower_runner.h"

#include <algorithm>
#include <utility>

#include "kernels/cuda/libraries.h"
#include "kernels/cuda/tuning.h"

namespace spire {

// Watches one tower's run kernel by kernel, where somebody wants to see its tensors or kernels.
class TowerRunner::Watch : public PlanObserver {
 public:
  // tower: of the lane.
  Watch(TowerRunner& lane, const LaneContext& shared, size_t tower)
      : spans_(shared.spans), tower_(lane.range_.begin + static_cast<int>(tower)) {
    if (shared.observer) tap_.emplace(*shared.observer, tower_, lane.stream_);
  }

  // Returns null without an observer. Graphs run without stops: a watched run goes kernel by
  // kernel.
  PlanObserver* observer(const Tower& tower) {
    bool replayed = tower.graphs && !(spans_ && spans_->wants_kernels());
    return tap_ || (spans_ && !replayed) ? this : nullptr;
  }

  void on_tensor(const PlanTensor& tensor) override {
    if (tap_) tap_->on_tensor(tensor);
  }
  void before_kernel(const char* name) override {
    if (spans_) spans_->begin({SpanKind::op, name, tower_});
  }
  void after_kernel() override {
    if (spans_) spans_->end();
  }

 private:
  SpanSink* spans_;
  int tower_;
  std::optional<TowerTap> tap_;
};

// Listens to one tower's run for the lane's clock alone.
class TowerRunner::BackwardMark : public PlanListener {
 public:
  explicit BackwardMark(LaneClock& clock) : clock_(clock) {}

  void backward_begins() override { clock_.enter(&StepTimes::backward); }
  void gradients_ready(int64_t) override {}

 private:
  LaneClock& clock_;
};

// Also adds the tower's gradients up the tree as they become final. With the lane's last tower the
// sums are final, too, and an exchange is notified.
class TowerRunner::Progress : public BackwardMark {
 public:
  Progress(TowerRunner& lane, const TreeStep& step, bool last, LaneClock& clock,
           const LaneContext& shared)
      : BackwardMark(clock), lane_(lane), step_(step), last_(last), shared_(shared) {}

  void backward_begins() override {
    BackwardMark::backward_begins();
    shared_.status->enter(shared_.lane, Phase::backward);
  }

  void gradients_ready(int64_t floats) override {
    if (lane_.placement_.rounds_to_bf16) round({done_, std::min(floats, lane_.trained_floats_)});
    add_towers({done_, floats});
    done_ = floats;
    if (last_ && shared_.exchange) shared_.exchange->gradients_ready(shared_.lane, floats);
  }

 private:
  // In lockstep, of all the lane's towers, which run with the last one.
  void round(FloatRange ready) {
    if (ready.size() <= 0) return;
    for (const Tower& tower : lane_.towers_)
      lane_.arithmetic_->round(tower.bindings.gradients, ready);
  }
  void add_towers(FloatRange ready) {
    bool adds = !step_.adds.empty() && ready.size() > 0;
    Span span(adds ? shared_.spans : nullptr, {SpanKind::bucket, "add up towers"});
    for (TreeAdd add : step_.adds)
      lane_.arithmetic_->add(lane_.gradients(add.into), lane_.gradients(add.from), ready);
  }

  TowerRunner& lane_;
  const TreeStep& step_;
  const bool last_;
  const LaneContext& shared_;
  int64_t done_ = 0;
};

TowerRunner::TowerRunner(DeviceSet& devices, int lane, const LaneOptions& options,
                         const GraphBuilder& build, const ParameterLayout& layout)
    : options_(options),
      placement_(devices.placement()),
      spec_(placement_.lanes[static_cast<size_t>(lane)]),
      range_(placement_.lane_towers[static_cast<size_t>(lane)]),
      stream_(devices.stream(lane)),
      memory_(devices.pool(devices.lane_position(lane).device)),
      cuda_(devices.libraries(devices.lane_position(lane).device)),
      replica_(devices.replica(devices.lane_position(lane).device)),
      gradient_floats_(layout.gradient_floats()),
      trained_floats_(layout.trained_floats()) {
  compile(train_plans_, batch_size(), true, build, layout);
  compile(eval_plans_, batch_size(), false, build, layout);
  compile_ragged(build, layout);
  // In lockstep all towers of the lane are under way at a time, each with its own buffers.
  bool lockstep = !tower_sums().empty();
  schedule_ = (lockstep ? lockstep_schedule : lane_schedule)(placement_.reduction,
                                                             placement_.towers, range_);
  towers_.resize(lockstep ? static_cast<size_t>(range_.size()) : 1);
  gradients_.resize(static_cast<size_t>(schedule_.buffers));
  arena_bytes_ = std::max(arena_bytes_, align_up(buffer_bytes(), workspace_alignment));
  measure_inputs();
}

// Those of evaluations run once an evaluation: their engines are not worth the seconds of a
// measurement.
void TowerRunner::compile_ragged(const GraphBuilder& build, const ParameterLayout& layout) {
  auto compile_all = [&](Plans& plans, const std::vector<int64_t>& counts, bool measures) {
    auto compile_them = [&] {
      for (int64_t samples : counts)
        compile(plans, samples, &plans == &train_plans_, build, layout);
    };
    Tuning* tuning = cuda_ ? cuda_->options().tuning : nullptr;
    tuning && !measures ? tuning->without_measuring(compile_them) : compile_them();
  };
  compile_all(train_plans_, options_.ragged_train, options_.measures_ragged);
  compile_all(eval_plans_, options_.ragged_eval, false);
}

// Plans of fewer samples need less.
void TowerRunner::measure_inputs() {
  for (const Plans* plans : {&train_plans_, &eval_plans_}) {
    const auto& rows = plans->begin()->second.row_bytes;
    input_bytes_.resize(std::max(input_bytes_.size(), rows.size()));
    for (size_t i = 0; i < rows.size(); ++i)
      input_bytes_[i] = std::max(input_bytes_[i], rows[i] * static_cast<size_t>(batch_size()));
  }
}

MemoryUse TowerRunner::memory() const {
  size_t inputs = BatchUploader::bytes(spec_.device, input_bytes_, upload_slots());
  return {{MemoryKind::gradients, static_cast<size_t>(schedule_.buffers) * buffer_bytes()},
          {MemoryKind::activations, towers_.size() * activation_bytes() + inputs},
          {MemoryKind::workspace,
           towers_.size() * workspace_bytes_ + CrossTowerSums::row_bytes(tower_sums())}};
}

void TowerRunner::allocate() {
  rows_.reserve(input_bytes_.size());
  allocate_arenas();
  for (Tower& tower : towers_) {
    tower.bindings.inputs.resize(input_bytes_.size());
    tower.bindings.stream = stream_.native();
  }
  arithmetic_ = make_lane_arithmetic(stream_, 1);
  auto ahead = static_cast<size_t>(range_.size() * options_.steps_under_way);
  uploader_ =
      std::make_unique<BatchUploader>(stream_, memory_, input_bytes_, upload_slots(), ahead);
  if (options_.shows_outputs)
    output_reader_ = std::make_unique<OutputReader>(eval_plans_.at(batch_size()).output, stream_);
  tower_vector_ = memory_.allocate(MemoryKind::workspace, CrossTowerSums::row_bytes(tower_sums()));
}

// No op writes the gaps between gradients, so they must be zero from the start, as a CPU's memory
// is: its pages are first touched by the lane's own work, not here by one lane after another.
void TowerRunner::allocate_arenas() {
  size_t first_arena = gradients_.size() - towers_.size();
  for (size_t i = 0; i < first_arena; ++i) {
    sums_.push_back(memory_.allocate(MemoryKind::gradients, buffer_bytes()));
    gradients_[i] = sums_.back()->as<float>();
  }
  for (size_t i = 0; i < towers_.size(); ++i) {
    arenas_.push_back(memory_.allocate({{MemoryKind::gradients, buffer_bytes()},
                                        {MemoryKind::activations, activation_bytes()},
                                        {MemoryKind::workspace, workspace_bytes_}}));
    towers_[i].bindings.arena = arenas_.back()->as<std::byte>();
    gradients_[first_arena + i] = arenas_.back()->as<float>();
  }
  if (arenas_.front()->on_host()) return;
  for (float* buffer : gradients_) stream_.fill_zero(buffer, buffer_bytes());
}

// Builds the graph for a number of samples, runs the passes, and prepares its kernels.
void TowerRunner::compile(Plans& plans, int64_t samples, bool training, const GraphBuilder& build,
                          const ParameterLayout& layout) {
  if (plans.contains(samples)) return;
  Graph graph = build(samples, training);
  Compiled compiled;
  for (Value input : graph.values_of(Role::input))
    compiled.row_bytes.push_back(graph.spec(input).bytes() / static_cast<size_t>(samples));
  has_blocks_ = has_blocks_ || !graph.blocks().empty();
  DeviceId device = spec_.device;
  LoweredGraph lowered =
      training ? lower_for_training(std::move(graph), device, layout, options_.recompute)
               : lower_for_evaluation(std::move(graph), device);
  if (options_.recompute && training) {
    bytes_without_recompute_ = std::max(bytes_without_recompute_, lowered.bytes_without_recompute);
    repeated_nodes_ = lowered.repeated_nodes;
  }
  PlanOptions options{.device = device,
                      .threads = spec_.threads,
                      .step = training,
                      .gradients = std::move(lowered.gradients),
                      .over_gradients = true,
                      .cuda = cuda_};
  if (options_.record) options.ready_offsets = options_.graph_ends;
  if (options_.shows_outputs && !training)
    compiled.output = lowered.graph.spec(lowered.graph.outputs().at("output"));
  compiled.plan = std::make_unique<Plan>(std::move(lowered.graph), options, layout, replica_.forms);
  arena_bytes_ = std::max(arena_bytes_, compiled.plan->activation_bytes());
  workspace_bytes_ = std::max(workspace_bytes_, compiled.plan->workspace_bytes());
  if (options_.record) compiled.graphs = std::make_unique<CudaGraphCache>(*compiled.plan, stream_);
  plans.emplace(samples, std::move(compiled));
}

const std::vector<int64_t>& TowerRunner::tower_sums() const {
  return train_plans_.at(batch_size()).plan->tower_sums();
}

size_t TowerRunner::forward_sums() const {
  return train_plans_.at(batch_size()).plan->forward_sums();
}

// Towers run one after another. With sums over towers (batch_norm: sync) all run at once, each with
// an arena and a gradient buffer of its own.
void TowerRunner::train(const Batch& batch, const StepContext& context, TowerSums& sums,
                        LaneClock& clock, const LaneContext& shared) {
  for (size_t first = 0; first < schedule_.steps.size(); first += towers_.size()) {
    enter_copy(clock);
    for (size_t i = first; i < first + towers_.size(); ++i) {
      Tower& tower = prepare(i, train_plans_, batch, context);
      tower.bindings.gradients = gradients(schedule_.steps[i].target);
      // A tower without samples joins the sums with zeros.
      if (!tower.plan) stream_.fill_zero(tower.bindings.gradients, buffer_bytes());
    }
    train_prepared(first, clock, shared);
    for (size_t i = first; i < first + towers_.size(); ++i)
      finish(towers_[i % towers_.size()], i, sums);
  }
}

// On a GPU the lane's stream waits for the copy of a tower's rows, unless it has ended by then.
void TowerRunner::enter_copy(LaneClock& clock) {
  if (stream_.device().kind == DeviceKind::cuda) clock.enter(&StepTimes::copy);
}

// Runs the prepared towers, of which the first is number `first` of the lane, up to the first sum
// over towers, exchanges it, runs them up to the next, and so on.
void TowerRunner::train_prepared(size_t first, LaneClock& clock, const LaneContext& shared) {
  size_t last = first + towers_.size() - 1;
  Progress progress(*this, schedule_.steps[last], last + 1 == schedule_.steps.size(), clock,
                    shared);
  BackwardMark others(clock);
  shared.status->enter(shared.lane, Phase::forward);
  for (size_t sum = 0; sum <= tower_sums().size(); ++sum) {
    // After its last sum of forward a tower goes on to backward.
    bool forward = sum <= forward_sums();
    clock.enter(forward ? &StepTimes::forward : &StepTimes::backward);
    for (Tower& tower : towers_) {
      if (!tower.plan) continue;
      if (forward) clock.enter(&StepTimes::forward);
      PlanListener& listener = &tower == &towers_.back() ? progress : others;
      Watch watch(*this, shared, first + static_cast<size_t>(&tower - towers_.data()));
      if (tower_sums().empty())
        run(tower, &listener, watch.observer(tower));
      else
        tower.position = tower.plan->run_segment(tower.bindings, sum == 0 ? 0 : tower.position + 1,
                                                 &listener, watch.observer(tower));
    }
    if (sum < tower_sums().size()) sum_over_towers(sum, shared);
  }
  progress.gradients_ready(gradient_floats_);
}

// Hands in each tower's vector, waits for all towers of the run, adds the rows in tree order and
// gives every tower the sum.
void TowerRunner::sum_over_towers(size_t index, const LaneContext& shared) {
  Span span(shared.spans, {SpanKind::wait, "sum over all towers"});
  int64_t count = tower_sums()[index];
  auto bytes = static_cast<size_t>(count) * sizeof(double);
  double* rows = shared.tower_sums->rows(index);
  auto* vector = tower_vector_->as<double>();
  for (size_t i = 0; i < towers_.size(); ++i) {
    const Tower& tower = towers_[i];
    double* row = rows + (range_.begin + static_cast<int64_t>(i)) * count;
    if (!tower.plan) stream_.fill_zero(vector, bytes);
    stream_.copy(row, tower.plan ? vector_of(tower).mine : vector, bytes);
  }
  shared.status->enter(shared.lane, Phase::waiting);
  shared.tower_sums->meet(index, shared.lane, count);
  bool forward = index < forward_sums();
  shared.status->enter(shared.lane, forward ? Phase::forward : Phase::backward);
  arithmetic_->sum_rows(rows, placement_.towers, count, vector);
  for (const Tower& tower : towers_) {
    if (tower.plan) stream_.copy(vector_of(tower).sum, vector, bytes);
  }
}

// Where a tower's plan stopped: its part of the sum, and where it reads the sum.
TowerVector TowerRunner::vector_of(const Tower& tower) {
  return tower.plan->tower_vector(tower.position, tower.bindings);
}

// Towers run one after another, also where training is in lockstep.
void TowerRunner::evaluate(const Batch& batch, TowerSums& sums, const LaneContext& shared,
                           OutputObserver* outputs) {
  shared.status->enter(shared.lane, Phase::eval);
  for (size_t i = 0; i < static_cast<size_t>(range_.size()); ++i) {
    Tower& tower = prepare(i, eval_plans_, batch, {});
    if (tower.plan) run(tower);
    if (tower.plan && outputs) show_output(tower, i, batch, *outputs);
    finish(tower, i, sums);
  }
  shared.status->enter(shared.lane, Phase::idle);
}

void TowerRunner::show_output(const Tower& tower, size_t i, const Batch& batch,
                              OutputObserver& outputs) {
  const void* output = tower.plan->output("output", tower.bindings.arena);
  int64_t first_row = (range_.begin + static_cast<int64_t>(i)) * batch_size();
  outputs.on_outputs(batch, first_row, tower.output.shape[0],
                     output_reader_->read(tower.output, output));
}

void TowerRunner::run(const Tower& tower, PlanListener* listener, PlanObserver* observer) {
  if (observer) {
    tower.plan->run(tower.bindings, listener, observer);
  } else if (tower.graphs) {
    tower.graphs->run(tower.bindings, listener);
  } else {
    tower.plan->run(tower.bindings, listener);
  }
}

// Binds the i-th tower of the lane to its plan, arena and rows of the batch.
TowerRunner::Tower& TowerRunner::prepare(size_t i, Plans& plans, const Batch& batch,
                                         StepContext context) {
  Tower& tower = towers_[i % towers_.size()];
  int index = range_.begin + static_cast<int>(i);
  int64_t first_row = index * batch_size();
  int64_t samples = std::clamp<int64_t>(batch.valid - first_row, 0, batch_size());
  context.first_row = first_row;
  // A tower's share of the valid samples, for batch statistics averaged over towers.
  context.tower_weight = static_cast<float>(samples) / static_cast<float>(batch.valid);
  tower.plan = nullptr;
  if (samples == 0) return tower;
  const Compiled& compiled = plans.at(samples);
  tower.plan = compiled.plan.get();
  tower.graphs = compiled.graphs.get();
  tower.output = compiled.output;
  tower.bindings.weights = replica_.values();
  tower.bindings.packed = replica_.forms.data();
  // A rank's batch has the rows of its own towers alone.
  auto stored_row = static_cast<size_t>(first_row - batch.first_row);
  rows_.clear();
  for (size_t c = 0; c < compiled.row_bytes.size(); ++c) {
    size_t row = compiled.row_bytes[c];
    rows_.push_back({batch.columns[c] + stored_row * row, static_cast<size_t>(samples) * row});
  }
  tower.slot = uploader_->upload(rows_, context, tower.bindings);
  return tower;
}

// Queues the copies of the tower's loss and score behind its run, and releases its upload slot.
void TowerRunner::finish(const Tower& tower, size_t i, TowerSums& sums) {
  auto index = static_cast<size_t>(range_.begin) + i;
  auto take = [&](const char* name, double& sum) {
    if (tower.plan) {
      stream_.copy(&sum, tower.plan->output(name, tower.bindings.arena), sizeof sum);
    } else {
      sum = 0;
    }
  };
  take("loss", sums.loss[index]);
  take("score", sums.score[index]);
  if (tower.plan) uploader_->release(tower.slot);
}

std::vector<NodeBuffer> TowerRunner::nodes() {
  std::vector<NodeBuffer> nodes;
  for (const BufferedNode& node : schedule_.nodes) {
    nodes.push_back({node.range, gradients(node.buffer), spec_.device});
  }
  return nodes;
}

std::optional<RecomputeInfo> TowerRunner::recompute() const {
  if (!options_.recompute) return std::nullopt;
  return RecomputeInfo{repeated_nodes_, static_cast<int64_t>(activation_bytes()),
                       static_cast<int64_t>(bytes_without_recompute_ - buffer_bytes())};
}

}  // namespace spire
