// What a Trainer has learned: its weights, its outputs, its checkpoints, and its memory.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <spire/train.h>

#include "engine/base/fail.h"
#include "engine/checkpoint/checkpoint_file.h"
#include "engine/config/check.h"
#include "engine/run/initial/initial_weights.h"
#include "engine/run/resume.h"
#include "engine/run/trainer/trainer_parts.h"
#include "engine/update/optimizer.h"
#include "engine/update/update_pieces.h"
#include "engine/weights/files/weight_writers.h"
#include "engine/weights/names/name_table.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

// Bytes as a file, which libhdf5 and the program that checks files open by its path: in memory if
// there is room, else among the temporary files.
class StateFile {
 public:
  explicit StateFile(std::span<const std::byte> bytes) {
    if (write("/dev/shm", bytes)) return;
    std::error_code none;
    fs::path folder = fs::temp_directory_path(none);
    if (write(none ? "/tmp" : folder, bytes)) return;
    fail(Category::checkpoint, "cannot write the state in memory to {}: {}", path_,
         std::strerror(errno));
  }
  ~StateFile() { ::unlink(path_.c_str()); }
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  // The path says what the bytes are, a checkpoint or safetensors, whose header begins there.
  bool write(const fs::path& folder, std::span<const std::byte> bytes) {
    bool tensors = bytes.size() > 8 && bytes[8] == std::byte{'{'};
    std::string suffix = tensors ? ".safetensors" : "";
    path_ = (folder / ("spire-state-XXXXXX" + suffix)).string();
    int descriptor = ::mkostemps(path_.data(), static_cast<int>(suffix.size()), O_CLOEXEC);
    if (descriptor < 0) return false;
    while (!bytes.empty()) {
      ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) break;
      if (written > 0) bytes = bytes.subspan(static_cast<size_t>(written));
    }
    int why = errno;
    ::close(descriptor);
    if (!bytes.empty()) ::unlink(path_.c_str());
    errno = why;
    return bytes.empty();
  }

  std::string path_;
};

// Calls body(); an Error's text has `name` in place of `path`.
template <typename Body>
void with_name(const std::string& path, const std::string& name, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    std::string text = error.what();
    if (size_t at = text.find(path); at != std::string::npos) text.replace(at, path.size(), name);
    throw Error(error.category(), text);
  }
}

}  // namespace

std::vector<TrainerMemory> Trainer::Parts::memory() const {
  auto total = [](const MemoryByKind& kinds) {
    int64_t bytes = 0;
    for (const auto& [kind, of_kind] : kinds) bytes += of_kind;
    return bytes;
  };
  std::vector<MemoryByKind> planned = trainer->planned_memory(), peak = trainer->peak_memory();
  std::vector<MemoryByKind> kinds = tower.plan_only ? planned : trainer->memory_in_use();
  auto first = static_cast<size_t>(setup.placement.devices_of(setup.placement.rank).begin);
  std::vector<TrainerMemory> memory;
  for (size_t d = 0; d < kinds.size(); ++d)
    memory.push_back({.device = to_string(setup.placement.devices[first + d].id),
                      .planned = total(planned[d]),
                      .in_use = tower.plan_only ? 0 : total(kinds[d]),
                      .peak = total(peak[d]),
                      .kinds = kinds[d]});
  return memory;
}

std::vector<TrainerMemory> Trainer::memory() const {
  return parts_->memory();
}

std::vector<TrainerMemory> Trainer::plan_memory(const RunConfig& config, const SampleSpec& data,
                                                const TrainerOptions& options) {
  check_config_for_batches(config, options);
  return Parts::make(config, callers_data(data, options), options, false, true)->memory();
}

std::vector<TrainerMemory> Trainer::plan_memory(const RunConfig& config, const DataSource& data,
                                                const TrainerOptions& options) {
  return Parts::make(config, data, options, true, true)->memory();
}

// Steps and evaluations have ended when their calls return, so nobody reads the loaders' batches.
void Trainer::release_memory() {
  Parts& p = *parts_;
  Parts::Turn turn(p);
  if (!p.in_fit) p.train_data.reset();
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
  Parts::Turn turn(p);
  if (p.predict_rows() == 0) fail(Category::config, "predict(): TrainerOptions::predict_rows is 0");
  p.need_no_gradients("predict()");
  if (rows.data == nullptr || count < 1) fail(Category::config, "predict(): there are no rows");
  const Column& column = p.setup.data.test->spec().columns.front();
  check_rows(column, rows, count);
  auto row = static_cast<int64_t>(sizeof(float)) * column.shape.elements();
  if (const ForwardPass* sampler = p.trainer->sampler())
    row = std::max(row, static_cast<int64_t>(sizeof(float)) * sampler->output_shape().elements());
  if (count > std::numeric_limits<ptrdiff_t>::max() / row)
    fail(Category::config, "predict(): no memory holds {} rows", count);
  const GivenRows given(column, rows, count);
  check_indices(p.data(), column, given, count);
  std::vector<float> outputs;
  bool spoils = false;  // the model's output takes other columns
  p.guarded(
      [&] {
        if (p.setup.ranks.is_first()) p.trainer->sampler()->require_one_input();
        spoils = true;
        p.trainer->begin_evaluation();
        if (p.setup.ranks.is_first()) p.predict_batches(given, count, outputs);
        p.trainer->end_evaluation();
      },
      spoils);
  return outputs;
}

void Trainer::Parts::predict_batches(const GivenRows& rows, int64_t count,
                                     std::vector<float>& outputs) {
  const Column& column = setup.data.test->spec().columns.front();
  ForwardPass& pass = *trainer->sampler();
  int64_t at_once = predict_rows();
  int64_t width = pass.output_shape().elements() / at_once;
  std::vector<std::byte> batch(static_cast<size_t>(at_once) * column.row_bytes());
  outputs.resize(static_cast<size_t>(count * width));
  for (int64_t first = 0; first < count; first += at_once) {
    int64_t part = std::min(at_once, count - first);
    rows.copy(first, part, batch.data());
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
  Parts::Turn turn(p);
  const ParameterEntry& entry = p.find(name, values.size());
  p.guarded([&] { p.trainer->read_weight(entry, values); });
}

void Trainer::write_weight(const std::string& name, std::span<const float> values) {
  Parts& p = *parts_;
  Parts::Turn turn(p);
  const ParameterEntry& entry = p.find(name, values.size());
  p.need_no_gradients("write_weight()");
  p.guarded([&] { p.trainer->write_weight(entry, values); });
}

const ParameterEntry& Trainer::Parts::find(const std::string& name) const {
  const std::vector<ParameterEntry>& entries = trainer->layout().entries();
  auto entry = std::find_if(entries.begin(), entries.end(), [&](const ParameterEntry& known) {
    return known.name == name && !known.teacher;
  });
  if (entry == entries.end())
    fail(Category::config, "the model has no weight '{}'; weights() lists them", name);
  return *entry;
}

const ParameterEntry& Trainer::Parts::find(const std::string& name, size_t values) const {
  const ParameterEntry& entry = find(name);
  if (static_cast<int64_t>(values) != entry.elements())
    fail(Category::config, "weight '{}' is {}, which are {} numbers, not {}", name,
         to_string(entry.shape), entry.elements(), values);
  return entry;
}

void Trainer::set_optimizer(const OptimizerConfig& optimizer) {
  Parts& p = *parts_;
  Parts::Turn turn(p);
  p.need_no_gradients("set_optimizer()");
  const OptimizerConfig present = p.setup.config.optimizer;
  RunConfig config = p.setup.config;
  config.optimizer = optimizer;
  if (p.options.model) config.model = ModelConfig();  // the program's has a name of its own
  std::optional<SymmetricError> differs;
  auto compare = [&] {
    try {
      compare_configs(config, p.setup.ranks);
    } catch (const SymmetricError& error) {
      differs = error;
    }
  };
  p.guarded(compare, false);  // before what one process alone might refuse
  if (differs) throw Error(*differs);
  check_config(config);
  if (optimizer.name != present.name || optimizer.own != present.own ||
      slot_names(optimizer) != slot_names(present))
    fail(Category::config,
         "set_optimizer(): another optimizer, or one that keeps other state of each weight; make "
         "a new Trainer and load_weights()");
  check_factors(optimizer, p.trainer->layout());
  p.setup.config.optimizer = optimizer;
  try {
    p.setup.check_placed();
    p.guarded([&] { p.trainer->set_optimizer(optimizer); });
  } catch (...) {
    p.setup.config.optimizer = present;
    throw;
  }
  p.schedule = Schedule(p.setup.config.schedule, p.setup.learning_rate(), p.setup.total_steps(),
                        p.setup.steps_per_epoch());
}

uint64_t Trainer::parameter_hash() {
  Parts& p = *parts_;
  uint64_t hash = 0;
  p.guarded([&] { hash = p.trainer->parameter_hash(); });
  return hash;
}

// The broadcast ends the call on all ranks when the state is written.
void Trainer::Parts::save(const std::function<void(const StateMetadata&)>& write) {
  Turn turn(*this);
  need_no_gradients("save()");
  guarded(
      [&] {
        trainer->capture_state();
        if (setup.ranks.is_first()) {
          StateMetadata state;
          trainer->describe(state);
          state.step = done;
          state.samples_seen = samples_seen;
          setup.describe(state, guard);
          write(state);
        }
        if (setup.ranks.group()) setup.ranks.broadcast("saved");
      },
      false);
}

void Trainer::save(const std::filesystem::path& file) {
  Parts& p = *parts_;
  p.save([&](const StateMetadata& state) {
    write_checkpoint(file, state, p.trainer->state(), p.trainer->piece());
  });
}

std::vector<std::byte> Trainer::save() {
  Parts& p = *parts_;
  std::vector<std::byte> file;
  p.save([&](const StateMetadata& state) {
    file = checkpoint_bytes(state, p.trainer->state(), p.trainer->piece());
  });
  return file;
}

template <typename Write>
void Trainer::Parts::save_weights(const Write& write) {
  Turn turn(*this);
  need_no_gradients("save_weights()");
  if (setup.config.adapt.lora.rank > 0)
    fail(Category::config,
         "save_weights(): adapters (adapt.lora) are merged by `trainer export`; use save()");
  guarded(
      [&] {
        std::vector<float> flat(static_cast<size_t>(trainer->layout().total_floats()));
        trainer->read_evaluation_weights(flat);
        if (setup.ranks.is_first()) {
          std::vector<TensorToWrite> tensors;
          for (const ParameterEntry& entry : trainer->layout().entries()) {
            if (entry.teacher) continue;
            const float* values = flat.data() + entry.offset;
            tensors.push_back(
                {entry.name, entry.shape, [values](int64_t begin, std::span<float> out) {
                   std::copy_n(values + begin, out.size(), out.begin());
                 }});
          }
          std::ranges::sort(tensors, {}, &TensorToWrite::name);
          write(tensors, own_metadata({.names = WeightNames::spire, .parameters = {}},
                                      tower.build_model_alone(1, false)));
        }
        if (setup.ranks.group()) setup.ranks.broadcast("saved");
      },
      false);
}

void Trainer::save_weights(const fs::path& file) {
  parts_->save_weights([&](const auto& tensors, const auto& metadata) {
    write_safetensors(file, tensors, {.existing = Existing::replace, .metadata = metadata});
  });
}

std::vector<std::byte> Trainer::save_weights() {
  std::vector<std::byte> bytes;
  parts_->save_weights([&](const auto& tensors, const auto& metadata) {
    bytes = safetensors_bytes(tensors, metadata);
  });
  return bytes;
}

// open: on each process, within the call that all make.
void Trainer::Parts::load(const std::function<CheckpointFile()>& open, const std::string& name) {
  Turn turn(*this);
  need_no_gradients("load()");
  std::optional<CheckpointFile> checkpoint;
  guarded(
      [&] {
        checkpoint.emplace(open());
        if (auto warning = unchecked_warning(name, checkpoint->checked()))
          remarks.on_warning(*warning);
        check_loaded(checkpoint->metadata(), name);
      },
      false);
  guarded([&] { trainer->restore(checkpoint->metadata(), &*checkpoint); });
  const StateMetadata& state = checkpoint->metadata();
  done = state.step;
  samples_seen = state.samples_seen;
  guard = Guard(setup.config.guard);
  guard.restore(state.guard);
  trainer->set_rejected_steps(guard.bad_steps());
}

void Trainer::load(const std::filesystem::path& file) {
  parts_->load([&] { return CheckpointFile(file); }, file.string());
}

void Trainer::load(std::span<const std::byte> file) {
  std::optional<StateFile> copy;
  auto open = [&] {
    copy.emplace(file);
    std::optional<CheckpointFile> opened;
    with_name(copy->path(), "in memory", [&] { opened.emplace(copy->path()); });
    return std::move(*opened);
  };
  parts_->load(open, "the state in memory");
}

void Trainer::load_weights(std::span<const std::byte> checkpoint) {
  StateFile copy(checkpoint);
  with_name(copy.path(), "the state in memory", [&] { load_weights({.from = copy.path()}); });
}

void Trainer::load_weights(const InitConfig& from) {
  Parts& p = *parts_;
  Parts::Turn turn(p);
  p.need_no_gradients("load_weights()");
  if (from.from == "none") fail(Category::config, "load_weights(): InitConfig::from names no file");
  if (p.setup.config.adapt.lora.rank > 0)
    fail(
        Category::config,
        "load_weights(): beside adapters (adapt.lora) other weights are another model; use load(), "
        "or a new Trainer with init.from");
  InitConfig& init = p.setup.config.init;  // which a saved state shows as the run began
  InitConfig before = std::exchange(init, from);
  try {
    p.guarded(
        [&] {
          std::string loaded = load_initial_weights(p.setup, *p.trainer, p.remarks);
          if (!loaded.empty()) p.remarks.on_note(loaded);
        },
        false);
  } catch (...) {
    init = before;
    throw;
  }
  init = before;
}

// Another seed or batch would be another run.
void Trainer::Parts::check_loaded(const StateMetadata& state, const std::string& file) const {
  auto compare = [&](const char* key, auto mine, auto saved) {
    if (mine == saved) return;
    fail(Category::config,
         "{}: {}, but {} was saved with {}; use the same, or read its weights alone by "
         "load_weights()",
         key, mine, file, saved);
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
