// What a Trainer has learned: its weights, its outputs, its checkpoints, and its memory.
#include <algorithm>
#include <limits>

#include <malloc.h>

#include <spire/train.h>

#include "engine/checkpoint/checkpoint_file.h"
#include "engine/run/resume.h"
#include "engine/run/trainer/trainer_parts.h"

namespace spire {

std::vector<TrainerMemory> Trainer::memory() const {
  Parts& p = *parts_;
  auto total = [](const MemoryByKind& kinds) {
    int64_t bytes = 0;
    for (const auto& [kind, of_kind] : kinds) bytes += of_kind;
    return bytes;
  };
  std::vector<MemoryByKind> in_use = p.trainer->memory_in_use(), peak = p.trainer->peak_memory();
  auto first = static_cast<size_t>(p.setup.placement.devices_of(p.setup.placement.rank).begin);
  std::vector<TrainerMemory> memory;
  for (size_t d = 0; d < in_use.size(); ++d)
    memory.push_back({to_string(p.setup.placement.devices[first + d].id), total(in_use[d]),
                      total(peak[d]), in_use[d]});
  return memory;
}

// Steps and evaluations have ended when their calls return, so nobody reads the loaders' batches.
void Trainer::release_memory() {
  Parts& p = *parts_;
  p.train_data.reset();
  p.test_data.reset();
  ::malloc_trim(0);
}

Shape Trainer::output_shape() const {
  Parts& p = *parts_;
  if (p.predict_rows() == 0 || !p.setup.ranks.is_first())
    fail(Category::config,
         "output_shape(): only rank 0 knows it, with TrainerOptions::predict_rows");
  return Shape(p.trainer->sampler()->output_shape().dims().subspan(1));
}

std::vector<float> Trainer::predict(const ColumnRows& rows, int64_t count) {
  Parts& p = *parts_;
  if (p.predict_rows() == 0) fail(Category::config, "predict(): TrainerOptions::predict_rows is 0");
  if (rows.data == nullptr || count < 1) fail(Category::config, "predict(): there are no rows");
  const Column& column = p.data().columns.front();
  check_rows(column, rows, count);
  auto row = static_cast<int64_t>(given_size(column.dtype)) * column.shape.elements();
  if (count > std::numeric_limits<ptrdiff_t>::max() / row)
    fail(Category::config, "predict(): no memory holds {} rows", count);
  check_indices(p.data(), rows.data, count);
  std::vector<float> outputs;
  bool spoils = false;  // the model's output takes other columns
  p.guarded(
      [&] {
        if (p.setup.ranks.is_first()) p.trainer->sampler()->require_one_input();
        spoils = true;
        p.trainer->begin_evaluation();
        if (p.setup.ranks.is_first())
          p.predict_batches(static_cast<const std::byte*>(rows.data), count, outputs);
        p.trainer->end_evaluation();
      },
      spoils);
  return outputs;
}

void Trainer::Parts::predict_batches(const std::byte* rows, int64_t count,
                                     std::vector<float>& outputs) {
  const Column& column = setup.data.train->spec().columns.front();
  ForwardPass& pass = *trainer->sampler();
  int64_t at_once = predict_rows(), row = column.shape.elements();
  int64_t width = pass.output_shape().elements() / at_once;
  std::vector<std::byte> batch(static_cast<size_t>(at_once) * column.row_bytes());
  outputs.resize(static_cast<size_t>(count * width));
  for (int64_t first = 0; first < count; first += at_once) {
    int64_t part = std::min(at_once, count - first);
    copy_numbers(rows + static_cast<size_t>(first * row) * given_size(column.dtype), part * row,
                 column.dtype, batch.data());
    pass.run(batch.data());
    pass.copy_output(std::span(outputs).subspan(static_cast<size_t>(first * width),
                                                static_cast<size_t>(part * width)));
  }
}

std::vector<WeightInfo> Trainer::weights() const {
  Parts& p = *parts_;
  std::vector<WeightInfo> infos;
  for (const ParameterEntry& entry : p.trainer->layout().entries())
    if (!entry.teacher) infos.push_back({entry.name, entry.shape, entry.trained()});
  std::sort(infos.begin(), infos.end(),
            [](const WeightInfo& a, const WeightInfo& b) { return a.name < b.name; });
  return infos;
}

void Trainer::read_weight(const std::string& name, std::span<float> values) {
  Parts& p = *parts_;
  const ParameterEntry& entry = p.find(name, values.size());
  p.guarded([&] { p.trainer->read_weight(entry, values); });
}

void Trainer::write_weight(const std::string& name, std::span<const float> values) {
  Parts& p = *parts_;
  const ParameterEntry& entry = p.find(name, values.size());
  p.guarded([&] { p.trainer->write_weight(entry, values); });
}

const ParameterEntry& Trainer::Parts::find(const std::string& name, size_t values) const {
  const std::vector<ParameterEntry>& entries = trainer->layout().entries();
  auto entry = std::find_if(entries.begin(), entries.end(), [&](const ParameterEntry& known) {
    return known.name == name && !known.teacher;
  });
  if (entry == entries.end())
    fail(Category::config, "the model has no weight '{}'; weights() lists them", name);
  if (static_cast<int64_t>(values) != entry->elements())
    fail(Category::config, "weight '{}' is {}, which are {} numbers, not {}", name,
         to_string(entry->shape), entry->elements(), values);
  return *entry;
}

uint64_t Trainer::parameter_hash() {
  Parts& p = *parts_;
  uint64_t hash = 0;
  p.guarded([&] { hash = p.trainer->parameter_hash(); });
  return hash;
}

// The broadcast ends the call on all ranks when the file is there.
void Trainer::save(const std::filesystem::path& file) {
  Parts& p = *parts_;
  p.guarded(
      [&] {
        p.trainer->capture_state();
        if (p.setup.ranks.is_first()) {
          StateMetadata state;
          p.trainer->describe(state);
          state.step = p.done;
          state.samples_seen = p.samples_seen;
          p.setup.describe(state, p.guard);
          write_checkpoint(file, state, p.trainer->state(), p.trainer->piece());
        }
        if (p.setup.ranks.group()) p.setup.ranks.broadcast("saved");
      },
      false);
}

void Trainer::load(const std::filesystem::path& file) {
  Parts& p = *parts_;
  std::optional<CheckpointFile> checkpoint;
  p.guarded(
      [&] {
        checkpoint.emplace(file);
        if (auto warning = unchecked_warning(file, checkpoint->checked()))
          p.remarks.on_warning(*warning);
        p.check_loaded(checkpoint->metadata(), file);
      },
      false);
  p.guarded([&] { p.trainer->restore(checkpoint->metadata(), &*checkpoint); });
  const StateMetadata& state = checkpoint->metadata();
  p.done = state.step;
  p.samples_seen = state.samples_seen;
  p.guard = Guard(p.setup.config.guard);
  p.guard.restore(state.guard);
  p.trainer->set_rejected_steps(p.guard.bad_steps());
}

// Another seed or batch would be another run.
void Trainer::Parts::check_loaded(const StateMetadata& state,
                                  const std::filesystem::path& file) const {
  auto compare = [&](const char* key, auto mine, auto saved) {
    if (mine == saved) return;
    fail(Category::config,
         "{}: {}, but {} was saved with {}; use the same, or begin a new run from its weights by "
         "init.from",
         key, mine, file.string(), saved);
  };
  compare("seed", setup.config.seed, state.seed);
  compare("global_batch", setup.placement.global_batch, recorded_global_batch(state));
  if (split_may_change(setup.config, state)) return;
  compare("towers", setup.placement.towers, state.towers);
  compare("batch_size", setup.placement.batch_size, state.batch_size);
  if (setup.placement.devices[0].id.kind == DeviceKind::cpu)
    compare("tower_threads", int64_t{setup.placement.tower_threads}, state.tower_threads);
}

}  // namespace spire
