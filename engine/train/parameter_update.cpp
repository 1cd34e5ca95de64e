#include <spire/train/parameter_update.h>

#include <algorithm>
#include <cmath>

#include <spire/collective/accumulate.h>

namespace spire {

ParameterUpdate::ParameterUpdate(const OptimizerConfig& config, const ParameterLayout& layout,
                                 Replica& master, TreeSum tree, float* sum_into, int parts)
    : layout_(layout),
      master_(master),
      tree_(std::move(tree)),
      sum_into_(sum_into),
      parts_(parts),
      clip_norm_(config.clip_norm),
      optimizer_(make_optimizer(config)),
      chunks_((layout.trained_floats() + TreeSum::chunk - 1) / TreeSum::chunk),
      chunk_squares_(static_cast<size_t>(chunks_)) {
  auto bytes = static_cast<size_t>(layout.trained_floats()) * sizeof(float);
  for (size_t i = 0; i < optimizer_->slots().size(); ++i) slots_.emplace_back(bytes);
  for (int part = 0; part < parts; ++part) {
    scratch_.emplace_back(static_cast<size_t>(TreeSum::chunk * tree_.depth()) * sizeof(float));
    slot_pointers_.emplace_back(slots_.size());
  }
}

ParameterUpdate::Chunk ParameterUpdate::chunk(int64_t index) const {
  int64_t begin = index * TreeSum::chunk;
  return {begin, std::min(TreeSum::chunk, layout_.trained_floats() - begin)};
}

void ParameterUpdate::reduce(int part, const UpdateStep& step) {
  auto p = static_cast<size_t>(part);
  for (int64_t i = chunks_ * part / parts_; i < chunks_ * (part + 1) / parts_; ++i) {
    Chunk c = chunk(i);
    float* out = sum_into_ + c.begin;
    const float* sum = tree_.sum(c.begin, c.count, out, scratch_[p].as<float>());
    chunk_squares_[static_cast<size_t>(i)] = sum_of_squares(sum, c.count);
    if (!two_phases()) update(c, sum, step, p);
  }
  if (part == 0) update_statistics();
}

void ParameterUpdate::finish(int part, const UpdateStep& step) {
  UpdateStep clipped = step;
  clipped.gradient_factor = clip_factor(gradient_norm(), clip_norm_);
  for (int64_t i = chunks_ * part / parts_; i < chunks_ * (part + 1) / parts_; ++i) {
    Chunk c = chunk(i);
    update(c, sum_into_ + c.begin, clipped, static_cast<size_t>(part));
  }
}

void ParameterUpdate::update(Chunk c, const float* gradients, const UpdateStep& step, size_t part) {
  for (size_t i = 0; i < slots_.size(); ++i)
    slot_pointers_[part][i] = slots_[i].as<float>() + c.begin;
  optimizer_->update(step, {c.count, gradients, master_.values() + c.begin, slot_pointers_[part]});
}

// running = (1 - momentum) * running + momentum * sum over towers.
void ParameterUpdate::update_statistics() {
  for (const auto& entry : layout_.entries()) {
    if (entry.trained) continue;
    for (int64_t done = 0; done < entry.elements(); done += TreeSum::chunk) {
      int64_t begin = entry.offset + done,
              count = std::min(TreeSum::chunk, entry.elements() - done);
      const float* sum = tree_.sum(begin, count, sum_into_ + begin, scratch_[0].as<float>());
      float* running = master_.values() + begin;
      for (int64_t i = 0; i < count; ++i) {
        running[i] = (1.0f - entry.momentum) * running[i] + entry.momentum * sum[i];
      }
    }
  }
}

double ParameterUpdate::gradient_norm() const {
  double squares = 0;
  for (double part : chunk_squares_) squares += part;
  return std::sqrt(squares);
}

}  // namespace spire
