// Steps of a Trainer in parts: gradients that the program reads and changes.
#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/base/fail.h"
#include "engine/run/trainer/trainer_parts.h"
#include "engine/train/tensor_observer.h"

namespace spire {
namespace {

// Keeps the gradients of each tower: of the ops that write to one the last has all of it. Lanes
// call it for their own towers.
class GradientObserver : public TensorObserver {
 public:
  void on_tensor(int tower, const TensorName& name, const TensorSpec& spec,
                 std::span<const std::byte> values) override {
    if (!name.backward || name.parameter.empty()) return;
    std::vector<float> gradient(static_cast<size_t>(spec.shape.elements()));
    for (size_t i = 0; i < gradient.size(); ++i)
      gradient[i] = static_cast<float>(element_value(spec.dtype, values, static_cast<int64_t>(i)));
    std::lock_guard lock(mutex_);
    towers_[tower][name.parameter] = std::move(gradient);
  }

  void show(const TowerGradients& receive, double factor) {
    for (auto& [tower, gradients] : towers_) {
      for (auto& [weight, gradient] : gradients) {
        for (float& value : gradient) value = static_cast<float>(value * factor);
        receive(tower, weight, gradient);
      }
    }
  }

 private:
  std::mutex mutex_;
  std::map<int, std::map<std::string, std::vector<float>>> towers_;
};

}  // namespace

StepResult Trainer::compute_gradients(const Samples& samples, const TowerGradients& on_tower) {
  Parts& p = *parts_;
  Parts::Turn turn(p);
  const Batch& batch = p.fill(samples, "compute_gradients()");
  StepOutcome outcome;
  GradientObserver observer;
  p.guarded([&] {
    outcome = p.trainer->compute_gradients(batch, p.done, on_tower ? &observer : nullptr);
  });
  p.has_gradients = true;
  outcome.lr = p.schedule.lr(p.done);
  if (on_tower) observer.show(on_tower, 1 / p.trainer->loss_scale().scale);
  return p.result_of(outcome);
}

std::span<float> Trainer::gradient(const std::string& name) {
  Parts& p = *parts_;
  Parts::Turn turn(p);
  p.need_gradients("gradient()");
  const ParameterEntry& entry = p.find(name);
  if (!entry.trained())
    fail(Category::config, "gradient(): weight '{}' is not trained, and has no gradient", name);
  std::span<float> all;
  p.guarded([&] { all = p.trainer->gradients(); });
  return all.subspan(static_cast<size_t>(entry.offset), static_cast<size_t>(entry.elements()));
}

StepResult Trainer::update(std::optional<double> lr) {
  Parts& p = *parts_;
  Parts::Turn turn(p);
  p.need_gradients("update()");
  if (lr) Parts::check_rate(*lr, "update()");
  StepOutcome outcome;
  p.guarded([&] { outcome = p.trainer->update(lr.value_or(p.schedule.lr(p.done))); });
  p.has_gradients = false;
  p.take(outcome);
  return p.result_of(outcome);
}

void Trainer::reject() {
  Parts& p = *parts_;
  Parts::Turn turn(p);
  p.need_gradients("reject()");
  p.guarded([&] { p.trainer->discard_gradients(); });
  p.has_gradients = false;
}

// Zeros are numbers of every column. They are not pinned: freeing pinned memory waits for all GPUs
// of the process, and so for other ranks in it.
void Trainer::warm_up() {
  Parts& p = *parts_;
  Parts::Turn turn(p);
  p.need_no_gradients("warm_up()");
  const Placement& placement = p.setup.placement;
  TowerRange own = placement.towers_of(placement.rank);
  size_t row = 0;
  for (const auto* columns : {&p.tower.train_columns, &p.tower.test_columns})
    for (const Column& column : *columns) row = std::max(row, column.row_bytes());
  const std::vector<std::byte> zeros(row * static_cast<size_t>(own.size() * placement.batch_size));
  auto batch_of = [&](const std::vector<Column>& columns) {
    Batch batch;
    batch.columns.assign(columns.size(), zeros.data());
    batch.first_row = own.begin * placement.batch_size;
    batch.valid = placement.global_batch;
    return batch;
  };
  const Batch trained = batch_of(p.tower.train_columns), tested = batch_of(p.tower.test_columns);
  p.guarded([&] {
    p.trainer->compute_gradients(trained, p.done, nullptr);
    p.trainer->discard_gradients();
    EvaluationSums sums;
    p.trainer->begin_evaluation();
    p.trainer->evaluate(tested, sums);
    p.trainer->end_evaluation();
  });
}

void Trainer::Parts::need_gradients(const char* method) const {
  if (!has_gradients)
    fail(Category::config, "{}: there are no gradients; call compute_gradients() first", method);
}

void Trainer::Parts::need_no_gradients(const char* method) const {
  if (has_gradients && !spoiled)
    fail(Category::config,
         "{}: gradients of step {} wait for it to end; call update() or reject() first", method,
         done + 1);
}

}  // namespace spire
