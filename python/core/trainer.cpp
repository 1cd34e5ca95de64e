// The class Trainer.
#include <limits>
#include <map>
#include <memory>

#include <nanobind/stl/map.h>
#include <nanobind/stl/tuple.h>

#include <spire/checkpoint.h>
#include <spire/inference.h>
#include <spire/trainer.h>

#include "python/core/graph.h"

namespace spire::python {
namespace {

using Columns = std::vector<std::tuple<std::string, std::vector<int64_t>, bool>>;  // integers?
using Floats = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;

Samples samples_of(const NamedArrays& batch) {
  Samples samples;
  for (const Array& array : arrays_of(batch)) samples.columns.emplace_back(array);
  if (!batch.empty() && batch.front().second.ndim() > 0)
    samples.count = static_cast<int64_t>(batch.front().second.shape(0));
  return samples;
}

SampleSpec spec_of(const Columns& columns, int64_t classes) {
  SampleSpec spec;
  for (const auto& [name, dims, integers] : columns) {
    if (dims.size() > static_cast<size_t>(Shape::max_rank))
      fail(Category::config, "column '{}': {} axes; {} are the most", name, dims.size(),
           Shape::max_rank);
    spec.columns.push_back({name, Shape(dims), integers ? DType::i32 : DType::f32});
  }
  spec.classes = classes;
  return spec;
}

// Runs work() without the GIL. If it throws, what a function of the model raised comes before what
// the engine made of it. errors: of the model; null: it has no functions.
template <typename Work>
void without_gil(const Work& work, PythonError* errors) {
  std::exception_ptr thrown;
  {
    nb::gil_scoped_release released;
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  if (!thrown) return;
  if (errors) errors->rethrow_if_any();
  std::rethrow_exception(thrown);
}

class PythonTrainer {
 public:
  PythonTrainer(const GivenConfig& config, NamedArrays data, NamedArrays test,
                const Columns& columns, int64_t classes, const PythonModel* model,
                int64_t train_samples, int64_t test_samples, bool any_batch)
      : data_(std::move(data)), test_(std::move(test)) {
    ResolvedConfig resolved = resolve(config);
    TrainerOptions options;
    options.train_samples = train_samples;
    options.test_samples = test_samples;
    options.any_batch = any_batch;
    if (model) options.model = model_of(*model, errors_);
    guarded([&] {
      if (columns.empty() && data_.empty())
        trainer_ = std::make_unique<Trainer>(resolved.config, options);
      else if (columns.empty())
        trainer_ = std::make_unique<Trainer>(
            resolved.config, array_source(arrays_of(data_), arrays_of(test_), {.classes = classes}),
            options);
      else
        trainer_ = std::make_unique<Trainer>(resolved.config, spec_of(columns, classes), options);
    });
  }
  ~PythonTrainer() {
    nb::gil_scoped_release released;
    trainer_.reset();
  }

  StepResult step(const NamedArrays& batch, std::optional<double> lr) {
    Samples samples = samples_of(batch);
    StepResult result;
    guarded([&] { result = trainer_->step(samples, lr); });
    return result;
  }

  EvaluationResult evaluate(const std::optional<NamedArrays>& batch) {
    Samples samples = batch ? samples_of(*batch) : Samples{};
    EvaluationResult result;
    guarded([&] { result = batch ? trainer_->evaluate(samples) : trainer_->evaluate(); });
    return result;
  }

  StepResult compute_gradients(const NamedArrays& batch,
                               const std::optional<nb::callable>& on_tower) {
    Samples samples = samples_of(batch);
    TowerGradients pass;
    if (on_tower)
      pass = [&](int tower, const std::string& weight, std::span<const float> gradient) {
        nb::gil_scoped_acquire gil;
        (*on_tower)(tower, weight, numpy_of({gradient.begin(), gradient.end()}, shape_of(weight)));
      };
    StepResult result;
    guarded([&] { result = trainer_->compute_gradients(samples, pass); });
    return result;
  }

  // self: keeps the memory.
  static Outputs gradient(nb::handle self, const std::string& name) {
    auto& trainer = nb::cast<PythonTrainer&>(self);
    std::span<float> values;
    trainer.guarded([&] { values = trainer.trainer_->gradient(name); });
    return numpy_of(values.data(), trainer.shape_of(name), self);
  }

  StepResult update(std::optional<double> lr) {
    StepResult result;
    guarded([&] { result = trainer_->update(lr); });
    return result;
  }

  void reject() {
    guarded([&] { trainer_->reject(); });
  }

  EvaluationResult fit(const std::optional<int64_t>& steps, const std::optional<nb::callable>& lr,
                       const std::optional<nb::callable>& on_step,
                       const std::optional<nb::callable>& on_epoch) {
    std::atomic<bool> stop = false;
    PythonError errors;
    auto goes_on = [&](const auto& call) {
      nb::gil_scoped_acquire gil;
      try {
        return call().ptr() != Py_False;
      } catch (...) {
        errors.keep();
        return false;
      }
    };
    FitOptions options;
    options.stop = &stop;
    options.steps = steps;
    if (lr)
      options.lr = [&](int64_t step) {
        nb::gil_scoped_acquire gil;
        try {
          return nb::cast<double>((*lr)(step));
        } catch (...) {
          errors.keep();
          return std::numeric_limits<double>::quiet_NaN();  // refused: no step is made with it
        }
      };
    if (on_step)
      options.on_step = [&](const StepResult& result) {
        return goes_on([&] { return (*on_step)(nb::cast(result, nb::rv_policy::copy)); });
      };
    if (on_epoch)
      options.on_epoch = [&](int64_t epoch, const EvaluationResult& result) {
        return goes_on([&] { return (*on_epoch)(epoch, nb::cast(result, nb::rv_policy::copy)); });
      };
    EvaluationResult last;
    run_interruptible([&] { last = trainer_->fit(options); }, stop, errors);
    return last;
  }

  // rows: of the first column.
  Outputs predict(const NamedArrays& rows) {
    Samples samples = samples_of(rows);
    int64_t count = samples.count;
    std::vector<float> outputs;
    guarded([&] { outputs = trainer_->predict(samples.columns.at(0), count); });
    return outputs_of(std::move(outputs), count, trainer_->output_shape());
  }

  Outputs read_weight(const std::string& name) {
    Shape shape = shape_of(name);
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    guarded([&] { trainer_->read_weight(name, values); });
    return numpy_of(std::move(values), shape);
  }

  void write_weight(const std::string& name, const Floats& values) {
    guarded([&] { trainer_->write_weight(name, {values.data(), values.size()}); });
  }

  uint64_t parameter_hash() {
    uint64_t hash = 0;
    guarded([&] { hash = trainer_->parameter_hash(); });
    return hash;
  }
  // weights: these alone.
  nb::bytes save_bytes(bool weights) {
    std::vector<std::byte> file;
    guarded([&] { file = weights ? trainer_->save_weights() : trainer_->save(); });
    return nb::bytes(file.data(), file.size());
  }
  void load_bytes(const nb::bytes& file, bool weights) {
    std::span bytes(static_cast<const std::byte*>(file.data()), file.size());
    guarded([&] { weights ? trainer_->load_weights(bytes) : trainer_->load(bytes); });
  }
  void save(const std::string& file, bool weights) {
    guarded([&] { weights ? trainer_->save_weights(file) : trainer_->save(file); });
  }
  void load(const std::string& file) {
    guarded([&] { trainer_->load(file); });
  }
  void load_weights(const GivenConfig& given) {
    ResolvedConfig from = resolve(given);
    guarded([&] { trainer_->load_weights(from.config.init); });
  }
  void set_optimizer(const GivenConfig& changes) {
    RunConfig present = trainer_->config();
    present.model = {};  // a model of the program has a name that no config may have
    ResolvedConfig changed = parse_config(
        {{"the trainer's config", to_yaml(present)}, {"set_optimizer", changes.text}}, {});
    guarded([&] { trainer_->set_optimizer(changed.config.optimizer); });
  }
  void warm_up() {
    guarded([&] { trainer_->warm_up(); });
  }
  void release_memory() {
    guarded([&] { trainer_->release_memory(); });
  }
  const Trainer& trainer() const { return *trainer_; }
  Trainer& trainer() { return *trainer_; }
  const std::shared_ptr<PythonError>& errors() const { return errors_; }  // of its model

 private:
  Shape shape_of(const std::string& name) {
    if (shapes_.empty())
      for (const WeightInfo& weight : trainer_->weights()) shapes_[weight.name] = weight.shape;
    auto found = shapes_.find(name);
    return found == shapes_.end() ? Shape() : found->second;
  }

  template <typename Work>
  void guarded(const Work& work) {
    without_gil(work, errors_.get());
  }

  NamedArrays data_, test_;  // read in place
  std::shared_ptr<PythonError> errors_ = std::make_shared<PythonError>();
  std::unique_ptr<Trainer> trainer_;
  std::map<std::string, Shape> shapes_;  // of all weights, once they are asked for
};

class PythonSession {
 public:
  PythonSession(PythonTrainer& trainer, int64_t rows)
      : errors_(trainer.errors()),
        session_(made([&] { return InferenceSession(trainer.trainer(), {.rows = rows}); })) {}
  PythonSession(const std::string& checkpoint, int64_t rows)
      : session_(made([&] {
          return InferenceSession(find_checkpoint(checkpoint, "", CheckpointChoice::best, {}),
                                  {.rows = rows});
        })) {}

  void update(PythonTrainer& trainer) {
    run([&] { session_.update(trainer.trainer()); });
  }

  // Without the GIL, so that threads compute at once.
  Outputs predict(const NamedArrays& rows) const {
    Samples samples = samples_of(rows);
    std::vector<float> outputs(
        static_cast<size_t>(samples.count * session_.output_shape().elements()));
    run([&] { session_.predict(samples.columns, samples.count, outputs); });
    return outputs_of(std::move(outputs), samples.count, session_.output_shape());
  }

  std::vector<std::pair<std::string, bool>> columns() const {  // of the outputs; integers?
    std::vector<std::pair<std::string, bool>> columns;
    for (int64_t c = 0; c < session_.columns(); ++c) {
      const Column& column = session_.data().columns[static_cast<size_t>(c)];
      columns.emplace_back(column.name, column.dtype == DType::i32);
    }
    return columns;
  }

 private:
  template <typename Work>
  void run(const Work& work) const {
    without_gil(work, errors_.get());
  }
  template <typename Make>
  InferenceSession made(const Make& make) const {
    std::optional<InferenceSession> session;
    run([&] { session.emplace(make()); });
    return std::move(*session);
  }

  std::shared_ptr<PythonError> errors_;  // null for checkpoints
  InferenceSession session_;
};

}  // namespace

void bind_trainer(nb::module_& module) {
  using nb::arg;
  nb::class_<WeightInfo>(module, "WeightInfo", "A weight, or a running statistic.")
      .def_ro("name", &WeightInfo::name)
      .def_prop_ro("shape", [](const WeightInfo& weight) { return tuple_of(weight.shape); })
      .def_ro("trained", &WeightInfo::trained, "False: frozen, or a running statistic.");
  nb::class_<TrainerMemory>(module, "TrainerMemory", "What a Trainer has on a device, in bytes.")
      .def_ro("device", &TrainerMemory::device)
      .def_ro("planned", &TrainerMemory::planned, "For all steps.")
      .def_ro("in_use", &TrainerMemory::in_use, "Now.")
      .def_ro("peak", &TrainerMemory::peak, "The most so far.")
      .def_prop_ro("kinds", [](const TrainerMemory& memory) {
        return std::map<std::string, int64_t>(memory.kinds.begin(), memory.kinds.end());
      });
  nb::class_<PythonTrainer>(module, "Trainer")
      .def(nb::init<const GivenConfig&, NamedArrays, NamedArrays, const Columns&, int64_t,
                    const PythonModel*, int64_t, int64_t, bool>(),
           arg("config"), arg("data"), arg("test"), arg("columns"), arg("classes"),
           arg("model").none(), arg("train_samples"), arg("test_samples"), arg("any_batch"))
      .def("step", &PythonTrainer::step, arg("batch"), arg("lr").none())
      .def("evaluate", &PythonTrainer::evaluate, arg("batch").none())
      .def("compute_gradients", &PythonTrainer::compute_gradients, arg("batch"),
           arg("on_tower").none())
      .def("gradient", &PythonTrainer::gradient, arg("name"))
      .def("update", &PythonTrainer::update, arg("lr").none())
      .def("reject", &PythonTrainer::reject)
      .def("fit", &PythonTrainer::fit, arg("steps").none(), arg("lr").none(), arg("on_step").none(),
           arg("on_epoch").none())
      .def("predict", &PythonTrainer::predict, arg("rows"))
      .def("read_weight", &PythonTrainer::read_weight, arg("name"))
      .def("write_weight", &PythonTrainer::write_weight, arg("name"), arg("values"))
      .def("columns",
           [](const PythonTrainer& t) {
             std::vector<std::pair<std::string, bool>> columns;  // integers?
             for (const Column& column : t.trainer().data().columns)
               columns.emplace_back(column.name, column.dtype == DType::i32);
             return columns;
           })
      .def("weights", [](const PythonTrainer& t) { return t.trainer().weights(); })
      .def("parameter_hash", &PythonTrainer::parameter_hash)
      .def("save", &PythonTrainer::save, arg("file"), arg("weights"))
      .def("load", &PythonTrainer::load, arg("file"))
      .def("save_bytes", &PythonTrainer::save_bytes, arg("weights"))
      .def("load_bytes", &PythonTrainer::load_bytes, arg("file"), arg("weights"))
      .def("load_weights", &PythonTrainer::load_weights, arg("init"))
      .def("set_optimizer", &PythonTrainer::set_optimizer, arg("changes"))
      .def("warm_up", &PythonTrainer::warm_up)
      .def("run_settings",
           [](const PythonTrainer& t) {  // what fit() on arrays keeps to
             const RunConfig& config = t.trainer().config();
             bool drops = config.data.last_batch == DataConfig::LastBatch::drop;
             return std::tuple(config.seed, config.epochs, config.steps, drops);
           })
      .def("release_memory", &PythonTrainer::release_memory)
      .def("memory", [](const PythonTrainer& t) { return t.trainer().memory(); })
      .def_prop_ro("global_batch",
                   [](const PythonTrainer& t) { return t.trainer().global_batch(); })
      .def_prop_ro("steps_done", [](const PythonTrainer& t) { return t.trainer().steps_done(); })
      .def_prop_ro("devices", [](const PythonTrainer& t) { return t.trainer().devices(); });
  nb::class_<PythonSession>(module, "InferenceSession")
      .def(nb::init<PythonTrainer&, int64_t>(), arg("trainer"), arg("rows"))
      .def(nb::init<const std::string&, int64_t>(), arg("checkpoint"), arg("rows"))
      .def("update", &PythonSession::update, arg("trainer"))
      .def("predict", &PythonSession::predict, arg("rows"))
      .def("columns", &PythonSession::columns);
}

}  // namespace spire::python
