#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include <spire/inference.h>
#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/base/processor.h"
#include "engine/base/text.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "engine/device/lane_team.h"
#include "engine/run/trainer/staged_batch.h"
#include "engine/run/trainer/trainer_parts.h"
#include "engine/train/forward_pass.h"
#include "engine/train/model_graph.h"
#include "engine/train/state_tensors.h"
#include "kernels/cuda/libraries.h"
#include "models/adapters.h"

namespace spire {

// What builds the graph, and the columns that it reads.
struct ModelOfSession {
  RunConfig config;
  SampleSpec spec;
  std::function<Graph(int64_t rows)> build;
  ParameterLayout layout;
};

namespace {

// A model of the program has a name that no config may have.
RunConfig config_of(const StateMetadata& state, const Model* model) {
  std::string yaml = state.config_yaml;
  size_t block = yaml.find("model:"), name = yaml.find("\n  name:", block);
  if (model && block != std::string::npos && name != std::string::npos)
    yaml.replace(name + 1, yaml.find('\n', name + 1) - name - 1, "  name: linear");
  return parse_config({{"the checkpoint's config", yaml}}, {}).config;
}

ModelOfSession saved_model(const StateMetadata& state, std::shared_ptr<const Model> model) {
  ModelOfSession made{.config = config_of(state, model.get()),
                      .spec = sample_spec_from_text(state.data_spec),
                      .build = {},
                      .layout = {}};
  if (made.config.precision == RunConfig::Precision::fp16)
    made.config.precision = RunConfig::Precision::fp32;  // the CPU computes no fp16
  for (Column& column : made.spec.columns)
    if (column.dtype == DType::f16) column.dtype = DType::f32;
  if (!model) made.spec.columns = unpacked_columns(std::move(made.spec.columns));
  GraphBuilder build = [config = made.config, spec = made.spec, model](int64_t rows, bool trains) {
    ModelInput input{.columns = spec.columns,
                     .classes = spec.classes,
                     .batch = rows,
                     .dtype = compute_dtype(config),
                     .table = spec.table,
                     .target_scale = spec.target_scale};
    return model ? build_own_model(*model, config.loss, input, trains)
                 : build_model(config.model, config.loss, input, trains);
  };
  made.layout = make_layout(build, 1);
  made.build = [build](int64_t rows) { return build(rows, false); };
  return made;
}

int64_t checked_rows(const InferenceOptions& options) {
  if (options.rows < 1)
    fail(Category::config, "InferenceOptions::rows: {} is less than 1", options.rows);
  return options.rows;
}

}  // namespace

struct InferenceSession::Impl {
  // Memory of a thread for one call at a time, with the plans for one row and for many.
  struct Passes {
    std::unique_ptr<ForwardPass> one, many;
    Buffer rows{0};  // of a pass, column behind column
    std::vector<const void*> columns;
  };

  Impl(ModelOfSession of, DeviceId device, int64_t rows_at_once)
      : model(std::move(of)),
        team({{.device = device, .cores = {}, .on_caller = device.kind == DeviceKind::cpu}}),
        rows(rows_at_once),
        forms(model.layout) {
    memory = std::make_unique<MemoryPool>(device, MemoryPoolOptions());
    libraries = open_cuda_libraries(device, {.tf32 = model.config.cuda.tf32,
                                             .cudnn_attention = model.config.cuda.attention ==
                                                                CudaConfig::Attention::automatic});
    std::unique_ptr<Passes> first;
    compute([&] { first = make_passes(); });
    inputs = first->one->input_count();
    // A token model has several rows of logits a row.
    std::vector<int64_t> dims(first->one->output_shape().dims().begin() + 1,
                              first->one->output_shape().dims().end());
    if (int64_t each = first->one->output_shape()[0]; each != 1) dims.insert(dims.begin(), each);
    output_shape = Shape(dims);
    idle.push_back(std::move(first));
  }

  // Runs `body` on the thread that calls; for a GPU on the thread that has it as current device,
  // one body at a time.
  template <typename Body>
  void compute(const Body& body) {
    std::unique_lock lock(gpu, std::defer_lock);
    if (!team.spec(0).on_caller) lock.lock();
    team.lead([&] { body(); });
  }

  // The plans register the forms of weights that they read, the same ones each time.
  std::unique_ptr<Passes> make_passes() {
    std::lock_guard lock(making);
    auto made = std::make_unique<Passes>();
    auto make = [&](int64_t count) {
      return std::make_unique<ForwardPass>(model.build(count), team.spec(0), model.layout, forms,
                                           libraries.get());
    };
    made->one = make(1);
    if (rows > 1) made->many = make(rows);
    made->one->allocate(*memory);
    if (rows > 1) made->many->allocate(*memory);
    size_t bytes = 0;
    for (const Column& column : model.spec.columns)
      bytes += align_up(column.row_bytes() * static_cast<size_t>(rows));
    made->rows = Buffer(bytes);
    made->columns.resize(model.spec.columns.size());
    return made;
  }

  std::unique_ptr<Passes> take() {
    {
      std::lock_guard lock(mutex);
      if (!idle.empty()) {
        auto taken = std::move(idle.back());
        idle.pop_back();
        return taken;
      }
    }
    return make_passes();
  }

  void give_back(std::unique_ptr<Passes> passes) {
    std::lock_guard lock(mutex);
    idle.push_back(std::move(passes));
  }

  std::shared_ptr<const Replica> present() const {
    std::lock_guard lock(mutex);
    return weights;
  }

  void predict(std::span<const GivenRows> given, int64_t count, std::span<float> out) {
    std::shared_ptr<const Replica> read = present();
    std::unique_ptr<Passes> passes = take();
    std::exception_ptr failure;
    try {
      run(*passes, *read, given, count, out);
    } catch (...) {
      failure = std::current_exception();
    }
    give_back(std::move(passes));  // its mutex ends the reading of the weights
    if (failure) std::rethrow_exception(failure);
  }

  void run(Passes& passes, const Replica& read, std::span<const GivenRows> given, int64_t count,
           std::span<float> out) const {
    auto width = static_cast<size_t>(output_shape.elements());
    for (int64_t done = 0; done < count;) {
      int64_t left = count - done;
      bool many = rows > 1 && left * 4 >= rows;
      int64_t all = many ? rows : 1, part = std::min(left, all);
      gather(given, done, part, all, passes);
      ForwardPass& pass = many ? *passes.many : *passes.one;
      pass.run(passes.columns, read);
      pass.copy_output(
          out.subspan(static_cast<size_t>(done) * width, static_cast<size_t>(part) * width));
      done += part;
    }
  }

  // Sets the columns of a pass of `all` rows: `part` rows from `first` on, then zeros.
  void gather(std::span<const GivenRows> given, int64_t first, int64_t part, int64_t all,
              Passes& passes) const {
    std::byte* staged = passes.rows.as<std::byte>();
    for (size_t c = 0; c < given.size(); ++c) {
      const std::byte* in_place = part == all ? given[c].in_place(first) : nullptr;
      passes.columns[c] = in_place ? in_place : staged;
      if (in_place) continue;
      given[c].copy(first, part, staged);
      size_t row = model.spec.columns[c].row_bytes();
      size_t used = static_cast<size_t>(part) * row, full = static_cast<size_t>(all) * row;
      std::memset(staged + used, 0, full - used);
      staged += align_up(full);
    }
  }

  // Returns memory for weights: that of the ones before the present ones, if nobody reads them.
  std::shared_ptr<Replica> free_weights() {
    {
      std::lock_guard lock(mutex);
      if (spare && spare.use_count() == 1) return std::move(spare);
    }
    std::lock_guard lock(making);
    auto fresh = std::make_shared<Replica>(model.layout);
    fresh->forms = forms.forms.like();
    fresh->allocate(*memory);
    return fresh;
  }

  // Takes weights as they lie in the model's layout.
  void set(const float* flat) {
    std::lock_guard one(setting);  // oneDNN's conversions are shared by all copies of the forms
    compute([&] {
      std::shared_ptr<Replica> fresh = free_weights();
      fresh->write(flat);
      auto stream = make_stream(team.spec(0).device);
      fresh->forms.pack_for_evaluation(fresh->values(), 0, 1, *stream);
      fresh->forms.pack_frozen(fresh->values(), 0, 1, *stream);
      stream->synchronize();
      std::lock_guard lock(mutex);
      spare = std::exchange(weights, std::move(fresh));
    });
  }

  ModelOfSession model;
  LaneTeam team;  // one lane
  int64_t rows;
  Replica forms;  // has no weights: the forms that the plans have registered
  size_t inputs = 1;
  Shape output_shape;
  std::unique_ptr<MemoryPool> memory;
  std::unique_ptr<CudaLibraries> libraries;  // null on a CPU
  std::mutex gpu;                            // of compute()
  std::mutex making;                         // of plans, forms and memory
  std::mutex setting;                        // of set()
  mutable std::mutex mutex;                  // of what follows
  std::vector<std::unique_ptr<Passes>> idle;
  std::shared_ptr<Replica> weights, spare;  // spare: the ones before, for the next update()
};

// Evaluations may read images of another size (data.image.eval_size), and outputs are theirs.
InferenceSession::InferenceSession(Trainer& trainer, const InferenceOptions& options) {
  Trainer::Parts& p = *trainer.parts_;
  Trainer::Parts::Turn turn(p);
  int64_t at_once = checked_rows(options);
  auto make = [&] {
    ModelOfSession model{.config = p.setup.config,
                         .spec = p.setup.data.test->spec(),
                         .build = [of = p.tower](int64_t rows) { return of.build_for_rows(rows); },
                         .layout = p.trainer->layout()};
    if (!p.tower.own_model) model.spec.columns = unpacked_columns(std::move(model.spec.columns));
    impl_ = std::make_unique<Impl>(std::move(model), p.setup.placement.lanes[0].device, at_once);
  };
  p.guarded(make, false);
  update(trainer);
}

InferenceSession::InferenceSession(const Checkpoint& checkpoint, const InferenceOptions& options,
                                   std::shared_ptr<const Model> model) {
  require_processor();
  const LoadedCheckpoint& from = *checkpoint.loaded();
  impl_ = std::make_unique<Impl>(saved_model(from.state, std::move(model)), DeviceId{},
                                 checked_rows(options));
  const ModelOfSession& of = impl_->model;
  std::vector<float> flat(static_cast<size_t>(of.layout.total_floats()));
  read_weights(of.layout, MergedTensors(from.tensors, adapter_factor(of.config.adapt.lora), true),
               true, flat.data());
  impl_->set(flat.data());
}

InferenceSession::~InferenceSession() = default;
InferenceSession::InferenceSession(InferenceSession&&) noexcept = default;
InferenceSession& InferenceSession::operator=(InferenceSession&&) noexcept = default;

void InferenceSession::update(Trainer& trainer) {
  Trainer::Parts& p = *trainer.parts_;
  Trainer::Parts::Turn turn(p);
  const auto& mine = impl_->model.layout.entries();
  const auto& theirs = p.trainer->layout().entries();
  bool same = std::ranges::equal(mine, theirs, [](const auto& a, const auto& b) {
    return a.name == b.name && a.shape == b.shape && a.offset == b.offset;
  });
  if (!same)
    fail(Category::config,
         "InferenceSession::update(): the trainer's weights have other names or shapes, or lie "
         "otherwise (freeze, adapt, distill); make a new session from it");
  std::vector<float> flat(static_cast<size_t>(impl_->model.layout.total_floats()));
  p.need_no_gradients("InferenceSession::update()");
  p.guarded([&] { p.trainer->read_evaluation_weights(flat); });
  impl_->set(flat.data());
}

const SampleSpec& InferenceSession::data() const {
  return impl_->model.spec;
}
int64_t InferenceSession::columns() const {
  return static_cast<int64_t>(impl_->inputs);
}
const Shape& InferenceSession::output_shape() const {
  return impl_->output_shape;
}

void InferenceSession::predict(std::span<const ColumnRows> columns, int64_t count,
                               std::span<float> out) const {
  Impl& session = *impl_;
  const std::vector<Column>& known = data().columns;
  if (columns.size() != session.inputs)
    fail(Category::config, "predict(): {} given, but outputs are computed from {}",
         counted(static_cast<int64_t>(columns.size()), "column"), session.inputs);
  auto width = static_cast<size_t>(session.output_shape.elements());
  if (count < 0 || out.size() % width != 0 || out.size() / width != static_cast<size_t>(count))
    fail(Category::config, "predict(): room for {} numbers; {} rows have {} each", out.size(),
         count, width);
  if (count == 0) return;
  std::vector<GivenRows> given;
  given.reserve(columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    check_rows(known[c], columns[c], count);
    given.emplace_back(known[c], columns[c], count);
    check_indices(data(), known[c], given.back(), count);
  }
  session.compute([&] { session.predict(given, count, out); });
}

}  // namespace spire
