#include "engine/run/audit/run_audit.h"

#include <fmt/format.h>

#include "engine/run/audit/audit_root.h"

namespace spire {

RunAudit::RunAudit(const RunSetup& setup, TowerTrainer& trainer)
    : setup_(setup),
      trainer_(trainer),
      weights_every_(weights_interval(setup.config.audit, trainer.layout().parameter_count())) {}

// A run that goes on as it was adds nothing: its chain is that of a run that never stopped. A chain
// that goes on in another directory begins there with its value so far.
void RunAudit::start(int64_t step) {
  if (!keeps()) return;
  std::string root = root_text(setup_, weights_every_);
  if (setup_.resumed)
    if (auto before = ChainState::parse(setup_.resumed->state.audit)) {
      state_ = *before;
      goes_on_ = setup_.resumed_here;
      if (!goes_on_)
        first_lines_ = fmt::format("{{\"step\":{},\"continues\":\"{}\"}}\n", step, state_.value);
    }
  if (digest({root}) == state_.root) return;
  if (!state_.root.empty()) data_warning_ = changed_data(setup_, state_.root, root);
  add_root(step, root);
}

void RunAudit::add_root(int64_t step, const std::string& root) {
  std::string line = fmt::format(R"({{"step":{},"root":{},"weights":"{}"}})", step, root,
                                 hashes_text(trainer_.tensor_hashes()));
  chain_line(line, state_.value);
  state_.root = digest({root});
  first_lines_ += line;
}

bool RunAudit::weights_due(int64_t step) const {
  return setup_.config.audit.chain && setup_.saves && step % weights_every_ == 0;
}

void RunAudit::take_batch(int64_t step, const BatchLoader& data, const Batch& batch) {
  if (keeps()) samples_[static_cast<size_t>(step) % samples_.size()] = samples_hash(data, batch);
}

void RunAudit::take(const StepOutcome& result, bool left_out) {
  if (!keeps()) return;
  record_.weights.clear();
  if (weights_due(result.step)) record_.weights = trainer_.tensor_hashes();
  set_step(record_, result, samples_[static_cast<size_t>(result.step) % samples_.size()], left_out);
  line_.clear();
  append_text(record_, line_);
  chain_line(line_, state_.value);
}

}  // namespace spire
