// The single list of what a checkpoint keeps beside its tensors: writing, reading and the
// metadata's checksum all walk it, so that none can forget a field.
#pragma once
#include <cstdint>
#include <string>

#include "engine/checkpoint/snapshot.h"

namespace spire::inline checkpoint {

// Calls visit(key, field) for each scalar field, in a fixed order. State is StateMetadata or const
// StateMetadata; fields are int64_t, uint64_t, double or std::string.
template <typename State, typename Visit>
void visit_metadata(State& state, Visit&& visit) {
  visit("step", state.step);
  visit("epoch", state.epoch);
  visit("step_in_epoch", state.step_in_epoch);
  visit("samples_seen", state.samples_seen);
  visit("optimizer_steps", state.optimizer_steps);
  visit("seed", state.seed);
  visit("towers", state.towers);
  visit("batch_size", state.batch_size);
  visit("tower_threads", state.tower_threads);
  visit("loss_scale", state.loss_scale);
  visit("loss_scale_steps", state.loss_scale_steps);
  visit("skipped_steps", state.skipped_steps);
  visit("skipped_in_row", state.skipped_in_row);
  visit("best_metric", state.best_metric);
  visit("best_step", state.best_step);
  visit("evaluated_step", state.evaluated_step);
  visit("evaluated_loss", state.evaluated_loss);
  visit("evaluated_metric", state.evaluated_metric);
  visit("waited_evaluations", state.waited_evaluations);
  visit("waited_from", state.waited_from);
  visit("parameter_hash", state.parameter_hash);
}

// All of it but versions and tensors, as text and back, exactly: what rank 0 tells the other ranks
// about the checkpoint it read. Throws Error(unexpected) for a text that is not of that form.
std::string metadata_text(const StateMetadata& state);
void read_metadata_text(const std::string& text, StateMetadata& state);

// hash64, in hex, over one "key=value\n" a field in the order above, one "version.library=value\n"
// a library in name order, the data's and the config's text. Integers are decimal, a double is the
// hex of its bits.
std::string metadata_checksum(const StateMetadata& state);

}  // namespace spire::inline checkpoint
