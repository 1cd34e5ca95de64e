#include "tools/bench/limits/timed_tower.h"

#include <algorithm>
#include <utility>

namespace spire {

TimedTower::TimedTower(DeviceSet& devices, int lane, const Options& options)
    : devices_(devices),
      lane_(lane),
      device_(devices.site(lane).device),
      stream_(devices.stream(lane)),
      replica_(devices.replica(device_)),
      seed_(options.seed),
      gradient_floats_(static_cast<size_t>(options.layout.gradient_floats())) {
  const Placement& placement = devices.placement();
  const LaneSpec& spec = placement.lanes[static_cast<size_t>(lane)];
  Graph graph = options.build(placement.batch_size, true);
  for (Value input : graph.values_of(Role::input))
    row_bytes_.push_back(graph.spec(input).bytes() / static_cast<size_t>(placement.batch_size));
  LoweredGraph lowered =
      lower_for_training(std::move(graph), spec.device, options.layout, options.recompute);
  work_ = work_of(lowered.graph, lowered.gradients);
  PlanOptions plan{.device = spec.device,
                   .threads = spec.threads,
                   .gradients = std::move(lowered.gradients),
                   .cuda = devices.libraries(device_)};
  plan_ = std::make_unique<Plan>(std::move(lowered.graph), plan, options.layout, replica_.forms);
  require(plan_->end() == work_.size(), "a plan has {} kernels for {} ops", plan_->end(),
          work_.size());
  for (size_t mark = 0; mark <= plan_->end(); ++mark)
    marks_.push_back(stream_.make_event(Timing::on));
}

void TimedTower::allocate() {
  MemoryPool& memory = devices_.pool(device_);
  arena_ = memory.allocate({{MemoryKind::activations, plan_->activation_bytes()},
                            {MemoryKind::workspace, plan_->workspace_bytes()}});
  gradients_ = memory.allocate(MemoryKind::gradients, gradient_floats_ * sizeof(float));
  std::vector<size_t> inputs;
  auto samples = static_cast<size_t>(devices_.placement().batch_size);
  for (size_t row : row_bytes_) inputs.push_back(row * samples);
  uploader_ = std::make_unique<BatchUploader>(stream_, memory, inputs, 1, 1);
  bindings_ = {.weights = replica_.values(),
               .packed = replica_.forms.data(),
               .gradients = gradients_->as<float>(),
               .arena = arena_->as<std::byte>(),
               .inputs = std::vector<const void*>(inputs.size()),
               .stream = stream_.native()};
}

// Rows beyond the batch's valid samples are zero, so that a tower is always whole here.
void TimedTower::bind(const Batch& batch, int64_t step) {
  const Placement& placement = devices_.placement();
  int64_t first_row =
      placement.lane_towers[static_cast<size_t>(lane_)].begin * placement.batch_size;
  StepContext context;
  context.seed = seed_;
  context.step = step;
  context.first_row = first_row;
  context.gradient_scale = 1.0f / static_cast<float>(placement.global_batch);
  context.tower_weight = 1.0f / static_cast<float>(placement.towers);
  std::vector<HostRows> rows;
  for (size_t c = 0; c < row_bytes_.size(); ++c) {
    auto stored = static_cast<size_t>(first_row - batch.first_row) * row_bytes_[c];
    rows.push_back(
        {batch.columns[c] + stored, static_cast<size_t>(placement.batch_size) * row_bytes_[c]});
  }
  uploader_->release(uploader_->upload(rows, context, bindings_));
}

void TimedTower::run(const Batch& batch, int64_t step) {
  bind(batch, step);
  stream_.synchronize();
  stream_.record(*marks_[0]);
  for (size_t kernel = 0; kernel < plan_->end(); ++kernel) {
    plan_->run_range(bindings_, kernel, kernel + 1);
    stream_.record(*marks_[kernel + 1]);
  }
  stream_.synchronize();
}

double TimedTower::seconds(size_t index) const {
  return stream_.seconds_between(*marks_[index], *marks_[index + 1]);
}

}  // namespace spire
