#include <spire/train/tower_lane.h>

#include <algorithm>
#include <cstring>

#include <spire/collective/accumulate.h>
#include <spire/graph/autodiff.h>
#include <spire/graph/passes.h>

namespace spire {

TowerLane::TowerLane(const LaneOptions& options, const GraphBuilder& build,
                     const ParameterLayout& layout, Replica& replica)
    : options_(options),
      schedule_(lane_schedule(options.towers, options.range)),
      replica_(replica),
      total_floats_(layout.total_floats()) {
  compile(train_plans_, options.batch_size, true, build, layout);
  for (int64_t samples : options.ragged_train) compile(train_plans_, samples, true, build, layout);
  compile(eval_plans_, options.batch_size, false, build, layout);
  for (int64_t samples : options.ragged_eval) compile(eval_plans_, samples, false, build, layout);
  arena_ = Buffer(activation_bytes_ + workspace_bytes_);
  for (int i = 0; i < schedule_.buffers; ++i) {
    gradients_.emplace_back(static_cast<size_t>(total_floats_) * sizeof(float));
  }
  bindings_.inputs.resize(2);
}

void TowerLane::compile(Plans& plans, int64_t samples, bool training, const GraphBuilder& build,
                        const ParameterLayout& layout) {
  if (plans.contains(samples)) return;
  Graph graph = build(samples, training);
  image_bytes_ = graph.spec(graph.values_of(Role::input)[0]).bytes() / static_cast<size_t>(samples);
  fuse_activations(graph);
  PlanOptions options{.device = options_.spec.device,
                      .threads = options_.spec.threads,
                      .step = training,
                      .gradients = {}};
  std::vector<Value> keep;
  if (training) {
    options.gradients = differentiate(graph);
    for (const auto& [parameter, gradient] : options.gradients) keep.push_back(gradient);
  }
  remove_dead_nodes(graph, keep);
  auto plan = std::make_unique<Plan>(std::move(graph), options, layout, replica_.forms);
  activation_bytes_ = std::max(activation_bytes_, plan->activation_bytes());
  workspace_bytes_ = std::max(workspace_bytes_, plan->workspace_bytes());
  plans.emplace(samples, std::move(plan));
}

void TowerLane::train(const Batch& batch, StepContext context, TowerSums& sums) {
  for (int i = 0; i < options_.range.size(); ++i) {
    const TreeStep& step = schedule_.steps[static_cast<size_t>(i)];
    float* gradients = gradients_[static_cast<size_t>(step.target)].as<float>();
    run(train_plans_, batch, options_.range.begin + i, gradients, context, sums);
    for (TreeAdd add : step.adds) {
      add_floats(gradients_[static_cast<size_t>(add.into)].as<float>(),
                 gradients_[static_cast<size_t>(add.from)].as<float>(), total_floats_);
    }
  }
}

void TowerLane::evaluate(const Batch& batch, TowerSums& sums) {
  for (int tower = options_.range.begin; tower < options_.range.end; ++tower) {
    run(eval_plans_, batch, tower, nullptr, {}, sums);
  }
}

void TowerLane::run(Plans& plans, const Batch& batch, int tower, float* gradients,
                    StepContext context, TowerSums& sums) {
  int64_t first_row = tower * options_.batch_size;
  int64_t samples = std::clamp<int64_t>(batch.valid - first_row, 0, options_.batch_size);
  auto t = static_cast<size_t>(tower);
  if (samples == 0) {  // joins with weight zero
    if (gradients) std::memset(gradients, 0, static_cast<size_t>(total_floats_) * sizeof(float));
    sums.loss[t] = sums.correct[t] = 0;
    return;
  }
  Plan& plan = *plans.at(samples);
  context.first_row = first_row;
  context.tower_weight = static_cast<float>(samples) / static_cast<float>(batch.valid);
  bindings_.weights = replica_.values();
  bindings_.packed = replica_.forms.data();
  bindings_.gradients = gradients;
  bindings_.arena = arena_.data();
  bindings_.inputs[0] =
      static_cast<const std::byte*>(batch.images) + static_cast<size_t>(first_row) * image_bytes_;
  bindings_.inputs[1] = batch.labels + first_row;
  plan.run(bindings_, context);
  sums.loss[t] = *static_cast<const double*>(plan.output("loss", arena_.data()));
  sums.correct[t] = *static_cast<const double*>(plan.output("correct", arena_.data()));
}

std::vector<TreeSum::Leaf> TowerLane::leaves() const {
  std::vector<TreeSum::Leaf> leaves;
  for (size_t i = 0; i < schedule_.nodes.size(); ++i) {
    leaves.push_back({schedule_.nodes[i], gradients_[i].as<float>()});
  }
  return leaves;
}

size_t TowerLane::gradient_bytes() const {
  return gradients_.size() * static_cast<size_t>(total_floats_) * sizeof(float);
}

}  // namespace spire
