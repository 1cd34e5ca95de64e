// A model that is trained step by step.
#include <algorithm>
#include <memory>

#include <spire/trainer.h>

#include "engine/c_api/handles.h"

struct spire_bytes {
  std::vector<std::byte> bytes;
};

namespace spire {
namespace {

SampleSpec spec_of(const spire_sample_spec& from) {
  SampleSpec spec;
  refuse_null(from.columns, "spire_trainer_create", "spec->columns");
  for (size_t i = 0; i < from.column_count; ++i) {
    spire_column column = whole_element(from.columns, i, "spire_trainer_create", "spec->columns");
    std::string place = joined("columns[", i, "]");
    refuse_null(column.name, place, "name");
    spec.columns.push_back(
        {column.name, shape_of_c(column.rank, column.shape, place), dtype_of_c(column.dtype)});
  }
  spec.classes = from.classes;
  return spec;
}

spire_step step_of(const StepResult& result) {
  return {sizeof(spire_step), result.step,           result.samples,      0,
          result.lr,          result.loss,           result.metric.value, result.grad_norm,
          result.loss_scale,  result.skipped ? 1 : 0};
}

spire_evaluation evaluation_of(const EvaluationResult& result) {
  return {sizeof(spire_evaluation), result.loss, result.metric.value, result.samples};
}

FitOptions fit_options_of(const spire_fit_options& from) {
  FitOptions options;
  if (from.steps != 0) options.steps = from.steps;
  if (from.on_step)
    options.on_step = [&from](const StepResult& result) {
      spire_step step = step_of(result);
      return from.on_step(from.user, &step) == 0;
    };
  if (from.on_epoch)
    options.on_epoch = [&from](int64_t epoch, const EvaluationResult& result) {
      spire_evaluation evaluation = evaluation_of(result);
      return from.on_epoch(from.user, epoch, &evaluation) == 0;
    };
  if (from.cancel) options.stop = &from.cancel->requested;
  return options;
}

std::optional<double> rate_of(const double* lr) {
  return lr ? std::optional<double>(*lr) : std::nullopt;
}

}  // namespace
}  // namespace spire

spire_status spire_trainer_create(const spire_config* config, const spire_sample_spec* spec,
                                  spire_trainer** trainer) {
  return spire::call(__func__, {GIVEN(config), GIVEN(spec), GIVEN(trainer)}, [&] {
    spire_sample_spec wanted = spire::whole(spec);
    spire::TrainerOptions options;
    options.any_batch = wanted.train_samples == SPIRE_ANY_BATCH;
    options.train_samples = options.any_batch ? 0 : wanted.train_samples;
    options.test_samples = wanted.test_samples;
    *trainer =
        new spire_trainer(spire::Trainer(config->resolved.config, spire::spec_of(wanted), options));
  });
}

spire_status spire_trainer_create_on(const spire_config* config, const spire_data* data,
                                     spire_trainer** trainer) {
  return spire::call(__func__, {GIVEN(config), GIVEN(trainer)}, [&] {
    const spire::RunConfig& run = config->resolved.config;
    *trainer = new spire_trainer(
        data ? spire::Trainer(run, spire::data_of_c(data, "spire_trainer_create_on", "data"))
             : spire::Trainer(run));
  });
}

void spire_trainer_destroy(spire_trainer* trainer) {
  delete trainer;
}

spire_status spire_trainer_batch(const spire_trainer* trainer, int64_t* samples) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(samples)},
                     [&] { *samples = trainer->trainer.global_batch(); });
}

spire_status spire_trainer_steps_done(const spire_trainer* trainer, int64_t* steps) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(steps)},
                     [&] { *steps = trainer->trainer.steps_done(); });
}

spire_status spire_trainer_devices(const spire_trainer* trainer, size_t* count) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(count)},
                     [&] { *count = trainer->devices.size(); });
}

spire_status spire_trainer_memory(const spire_trainer* trainer, size_t index,
                                  spire_memory* memory) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(memory)}, [&] {
    spire::check_index(index, trainer->devices.size(), "spire_trainer_memory", "device");
    spire::TrainerMemory found = trainer->trainer.memory()[index];
    spire::fill(memory, {sizeof(spire_memory), trainer->devices[index].c_str(), found.planned,
                         found.in_use, found.peak});
  });
}

spire_status spire_trainer_warm_up(spire_trainer* trainer) {
  return spire::call(__func__, {GIVEN(trainer)}, [&] { trainer->trainer.warm_up(); });
}

spire_status spire_trainer_set_optimizer(spire_trainer* trainer, const char* const* words,
                                         size_t count) {
  return spire::call(__func__, {GIVEN(trainer)}, [&] {
    std::vector<std::string> changes =
        spire::strings_of(words, count, "spire_trainer_set_optimizer", "words");
    for (const std::string& word : changes)
      if (!word.starts_with("optimizer."))
        spire::refuse("spire_trainer_set_optimizer: '", word,
                      "' changes no key of optimizer; a word is optimizer.KEY=VALUE");
    spire::ResolvedConfig changed = spire::parse_config(
        {{"the trainer's config", spire::to_yaml(trainer->trainer.config())}}, changes);
    trainer->trainer.set_optimizer(changed.config.optimizer);
  });
}

spire_status spire_trainer_release_memory(spire_trainer* trainer) {
  return spire::call(__func__, {GIVEN(trainer)}, [&] { trainer->trainer.release_memory(); });
}

spire_status spire_trainer_fit(spire_trainer* trainer, const spire_fit_options* options,
                               spire_evaluation* evaluation) {
  return spire::call(__func__, {GIVEN(trainer), IF_GIVEN(options), IF_GIVEN(evaluation)}, [&] {
    spire_fit_options wanted = spire::whole(options);
    spire::fill(evaluation,
                spire::evaluation_of(trainer->trainer.fit(spire::fit_options_of(wanted))));
  });
}

spire_status spire_trainer_evaluate_test_data(spire_trainer* trainer,
                                              spire_evaluation* evaluation) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(evaluation)}, [&] {
    spire::fill(evaluation, spire::evaluation_of(trainer->trainer.evaluate()));
  });
}

spire_status spire_trainer_step(spire_trainer* trainer, const spire_array* arrays, size_t count,
                                const double* lr, spire_step* step) {
  return spire::call(__func__, {GIVEN(trainer), IF_GIVEN(step)}, [&] {
    spire::Samples samples = spire::samples_of(arrays, count, "spire_trainer_step");
    spire::fill(step, spire::step_of(trainer->trainer.step(samples, spire::rate_of(lr))));
  });
}

spire_status spire_trainer_evaluate(spire_trainer* trainer, const spire_array* arrays, size_t count,
                                    spire_evaluation* evaluation) {
  return spire::call(__func__, {GIVEN(trainer), IF_GIVEN(evaluation)}, [&] {
    spire::Samples samples = spire::samples_of(arrays, count, "spire_trainer_evaluate");
    spire::fill(evaluation, spire::evaluation_of(trainer->trainer.evaluate(samples)));
  });
}

spire_status spire_trainer_compute_gradients(spire_trainer* trainer, const spire_array* arrays,
                                             size_t count, spire_step* step) {
  return spire::call(__func__, {GIVEN(trainer), IF_GIVEN(step)}, [&] {
    spire::Samples samples = spire::samples_of(arrays, count, "spire_trainer_compute_gradients");
    spire::fill(step, spire::step_of(trainer->trainer.compute_gradients(samples)));
  });
}

spire_status spire_trainer_gradient(spire_trainer* trainer, const char* name, float** values,
                                    size_t* elements) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(name), GIVEN(values)}, [&] {
    std::span<float> gradient = trainer->trainer.gradient(name);
    *values = gradient.data();
    if (elements) *elements = gradient.size();
  });
}

spire_status spire_trainer_update(spire_trainer* trainer, const double* lr, spire_step* step) {
  return spire::call(__func__, {GIVEN(trainer), IF_GIVEN(step)}, [&] {
    spire::fill(step, spire::step_of(trainer->trainer.update(spire::rate_of(lr))));
  });
}

spire_status spire_trainer_reject(spire_trainer* trainer) {
  return spire::call(__func__, {GIVEN(trainer)}, [&] { trainer->trainer.reject(); });
}

spire_status spire_trainer_outputs(const spire_trainer* trainer, int64_t* numbers) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(numbers)},
                     [&] { *numbers = trainer->trainer.output_shape().elements(); });
}

spire_status spire_trainer_predict(spire_trainer* trainer, const spire_array* rows, float* outputs,
                                   size_t room) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(rows), GIVEN(outputs)}, [&] {
    auto [columns, count] = spire::samples_of(rows, 1, "spire_trainer_predict", "rows");
    spire::check_room(room, trainer->trainer.output_shape().elements(), count,
                      "spire_trainer_predict");
    std::ranges::copy(trainer->trainer.predict(columns[0], count), outputs);
  });
}

spire_status spire_trainer_weights(const spire_trainer* trainer, size_t* count) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(count)},
                     [&] { *count = trainer->weights.size(); });
}

spire_status spire_trainer_weight(const spire_trainer* trainer, size_t index,
                                  spire_weight* weight) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(weight)}, [&] {
    spire::check_index(index, trainer->weights.size(), "spire_trainer_weight", "weight");
    const spire::WeightInfo& info = trainer->weights[index];
    spire_weight found = {};
    found.name = info.name.c_str();
    found.rank = info.shape.rank();
    std::ranges::copy(info.shape.dims(), found.shape);
    found.elements = info.shape.elements();
    found.trained = info.trained ? 1 : 0;
    spire::fill(weight, found);
  });
}

spire_status spire_trainer_read_weight(spire_trainer* trainer, const char* name, float* values,
                                       size_t elements) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(name), GIVEN(values)}, [&] {
    trainer->trainer.read_weight(name, {values, elements});
  });
}

spire_status spire_trainer_write_weight(spire_trainer* trainer, const char* name,
                                        const float* values, size_t elements) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(name), GIVEN(values)}, [&] {
    trainer->trainer.write_weight(name, {values, elements});
  });
}

spire_status spire_trainer_hash(spire_trainer* trainer, uint64_t* hash) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(hash)},
                     [&] { *hash = trainer->trainer.parameter_hash(); });
}

spire_status spire_trainer_save(spire_trainer* trainer, const char* file) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(file)}, [&] { trainer->trainer.save(file); });
}

spire_status spire_trainer_load(spire_trainer* trainer, const char* file) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(file)}, [&] { trainer->trainer.load(file); });
}

spire_status spire_trainer_save_weights(spire_trainer* trainer, const char* file) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(file)},
                     [&] { trainer->trainer.save_weights(file); });
}

spire_status spire_trainer_load_weights(spire_trainer* trainer, const char* file) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(file)},
                     [&] { trainer->trainer.load_weights({.from = file}); });
}

spire_status spire_trainer_save_bytes(spire_trainer* trainer, spire_bytes** bytes) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(bytes)},
                     [&] { *bytes = new spire_bytes{trainer->trainer.save()}; });
}

spire_status spire_trainer_load_bytes(spire_trainer* trainer, const void* data, size_t size) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(data)}, [&] {
    trainer->trainer.load({static_cast<const std::byte*>(data), size});
  });
}

const void* spire_bytes_data(const spire_bytes* bytes) {
  return bytes ? bytes->bytes.data() : nullptr;
}

size_t spire_bytes_size(const spire_bytes* bytes) {
  return bytes ? bytes->bytes.size() : 0;
}

void spire_bytes_destroy(spire_bytes* bytes) {
  delete bytes;
}
