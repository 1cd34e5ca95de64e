/* c_api_test FOLDER: uses every function of <spire/c.h> from C99; the runs write into FOLDER.
 * Prints what does not hold, and exits with 1 then. */
#include "tests/c_api/c_api_test.h"

#include <stdlib.h>

int failures = 0;

float points[samples][2];
int32_t labels[samples];

static void make_data(void) {
  uint32_t state = 1;
  for (int i = 0; i < samples; ++i) {
    for (int k = 0; k < 2; ++k) {
      state = state * 1664525u + 1013904223u;
      points[i][k] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
    labels[i] = points[i][0] + points[i][1] > 0;
  }
}

static const char* const yaml =
    "model: {name: mlp, hidden: [16]}\n"
    "optimizer: {name: sgd, lr: 0.2, momentum: 0.9}\n"
    "tower_threads: 1\n"
    "towers: 1\n"
    "batch_size: 32\n"
    "epochs: 10\n";

spire_config* make_config(const char* word) {
  spire_config* config = NULL;
  EXPECT(spire_config_create(yaml, &word, word ? 1 : 0, &config) == SPIRE_OK);
  return config;
}

spire_config* config_of_run(const char* folder, const char* name) {
  char word[4096];
  snprintf(word, sizeof word, "output=%s/%s", folder, name);
  return make_config(word);
}

const int64_t point_shape[] = {samples, 2};
const spire_array arrays[] = {
    {sizeof(spire_array), "features", points, SPIRE_F32, 2, point_shape, NULL},
    {sizeof(spire_array), "labels", labels, SPIRE_I32, 1, point_shape, NULL}};
static const int64_t batch_shape[] = {batch, 2};
const spire_array first_batch[] = {
    {sizeof(spire_array), "features", points, SPIRE_F32, 2, batch_shape, NULL},
    {sizeof(spire_array), "labels", labels, SPIRE_I32, 1, batch_shape, NULL}};
static const spire_data data = {sizeof(spire_data), arrays, 2, arrays, 2, 0};

typedef struct Counts {
  int64_t steps, evaluations, end_after;
  double first_loss, last_loss;
} Counts;

static int count_step(void* user, const spire_step* step) {
  Counts* counts = user;
  EXPECT(step->size == sizeof *step);
  if (++counts->steps == 1) counts->first_loss = step->loss;
  counts->last_loss = step->loss;
  return counts->end_after > 0 && step->step >= counts->end_after;
}

static int count_evaluation(void* user, const spire_evaluation* evaluation) {
  Counts* counts = user;
  ++counts->evaluations;
  EXPECT(evaluation->size == sizeof *evaluation && evaluation->samples == samples);
  return 0;
}

static void test_versions(void) {
  EXPECT(spire_c_api_version() == SPIRE_C_API_VERSION);
  EXPECT(strlen(spire_version()) >= 5);
  EXPECT(strcmp(spire_status_name(SPIRE_CHECKPOINT), "checkpoint") == 0);
  EXPECT(strcmp(spire_status_name(SPIRE_OK), "ok") == 0);
  EXPECT(strcmp(spire_status_name(SPIRE_INTERRUPTED), "interrupted") == 0);
  EXPECT(strcmp(spire_status_name((spire_status)63), "unknown") == 0);
  EXPECT(strcmp(spire_last_error(), "") == 0);
}

static void test_run(const char* folder) {
  spire_config* config = config_of_run(folder, "whole");
  Counts counts = {0, 0, 0, 0, 0};
  spire_train_options options = {.size = sizeof options};
  options.data = &data;
  options.on_step = count_step;
  options.on_evaluation = count_evaluation;
  options.user = &counts;
  options.overwrite = 1;
  spire_run* run = NULL;
  EXPECT(spire_train(config, &options, &run) == SPIRE_OK);
  if (!run) return;
  spire_summary summary = {0};
  EXPECT_ERROR(spire_run_summary(run, &summary), SPIRE_CONFIG, "sizeof(spire_summary)");
  summary.size = sizeof summary;
  EXPECT(spire_run_summary(run, &summary) == SPIRE_OK);
  EXPECT(summary.exit_code == 0 && summary.steps == 10 * samples / batch);
  EXPECT(counts.steps == summary.steps && counts.evaluations >= 1);
  EXPECT(counts.last_loss < counts.first_loss);
  EXPECT(summary.evaluated && summary.metric > 0.9);
  EXPECT(strcmp(summary.metric_name, "accuracy") == 0);
  EXPECT(strlen(summary.parameter_hash) == 16);
  spire_run_destroy(run);

  options.overwrite = 0;
  EXPECT(spire_train(config, &options, NULL) != SPIRE_OK); /* an earlier run is there */
  spire_config_destroy(config);
}

static void test_ending_early(const char* folder) {
  spire_config* config = config_of_run(folder, "ended");
  Counts counts = {0, 0, 3, 0, 0};
  spire_train_options options = {.size = sizeof options};
  options.data = &data;
  options.on_step = count_step;
  options.user = &counts;
  options.overwrite = 1;
  EXPECT(spire_cancel_create(&options.cancel) == SPIRE_OK);
  spire_run* run = NULL;
  EXPECT(spire_train(config, &options, &run) == SPIRE_OK);
  spire_summary summary = {.size = sizeof summary};
  EXPECT(spire_run_summary(run, &summary) == SPIRE_OK);
  EXPECT(summary.exit_code == SPIRE_INTERRUPTED && summary.steps < 10 * samples / batch);
  EXPECT(strlen(summary.checkpoint) > 0);
  spire_run_destroy(run);

  /* Requested before: it ends at its first step. */
  counts.end_after = 0;
  counts.steps = 0;
  EXPECT(spire_train(config, &options, &run) == SPIRE_OK);
  EXPECT(counts.steps <= 2);
  spire_run_destroy(run);
  spire_cancel_destroy(options.cancel);
  spire_config_destroy(config);
}

spire_trainer* make_trainer(void) {
  spire_config* config = make_config(NULL);
  const int64_t shape[] = {2};
  spire_column columns[] = {{sizeof(spire_column), "features", SPIRE_F32, 1, shape},
                            {sizeof(spire_column), "labels", SPIRE_I32, 0, NULL}};
  spire_sample_spec spec = {sizeof spec, columns, 2, classes, 0, 0};
  spire_trainer* trainer = NULL;
  EXPECT(spire_trainer_create(config, &spec, &trainer) == SPIRE_OK);
  spire_config_destroy(config);
  return trainer;
}

static spire_step train_steps(spire_trainer* trainer, int steps) {
  spire_step step = {.size = sizeof step};
  for (int i = 0; i < steps; ++i) {
    int first = i * batch % samples;
    spire_array given[] = {first_batch[0], first_batch[1]};
    given[0].data = points[first];
    given[1].data = labels + first;
    EXPECT(spire_trainer_step(trainer, given, 2, NULL, &step) == SPIRE_OK);
  }
  return step;
}

static void test_trainer(const char* folder) {
  spire_trainer* trainer = make_trainer();
  if (!trainer) return;
  int64_t global = 0, outputs = 0;
  EXPECT(spire_trainer_batch(trainer, &global) == SPIRE_OK && global == batch);
  EXPECT(spire_trainer_outputs(trainer, &outputs) == SPIRE_OK && outputs == classes);
  spire_step step = train_steps(trainer, 80);
  EXPECT(step.step == 80 && step.samples == batch && step.loss < 0.5);

  spire_evaluation evaluation = {.size = sizeof evaluation};
  EXPECT(spire_trainer_evaluate(trainer, arrays, 2, &evaluation) == SPIRE_OK);
  EXPECT(evaluation.metric > 0.9 && evaluation.samples == samples);

  /* The evaluation's accuracy is that of the predictions. */
  static float logits[samples][classes];
  EXPECT(spire_trainer_predict(trainer, arrays, logits[0], samples * classes) == SPIRE_OK);
  int right = 0;
  for (int i = 0; i < samples; ++i) right += (logits[i][1] > logits[i][0]) == labels[i];
  EXPECT(evaluation.metric == (double)right / samples);

  /* A checkpoint in another trainer: the same bits, and the same next step. */
  char file[4096];
  snprintf(file, sizeof file, "%s/trainer.h5", folder);
  uint64_t hash = 0, loaded = 0;
  EXPECT(spire_trainer_save(trainer, file) == SPIRE_OK);
  EXPECT(spire_trainer_hash(trainer, &hash) == SPIRE_OK);
  spire_trainer* other = make_trainer();
  EXPECT(spire_trainer_load(other, file) == SPIRE_OK);
  EXPECT(spire_trainer_hash(other, &loaded) == SPIRE_OK && loaded == hash);
  EXPECT(spire_trainer_warm_up(other) == SPIRE_OK);
  EXPECT(train_steps(trainer, 1).loss == train_steps(other, 1).loss);
  EXPECT(remove(file) == 0);

  /* Weights alone, and a rate that changes between steps. */
  snprintf(file, sizeof file, "%s/weights.safetensors", folder);
  EXPECT(spire_trainer_save_weights(trainer, file) == SPIRE_OK);
  const char* words[] = {"optimizer.lr=0.5", "optimizer.momentum=0.5"};
  EXPECT(spire_trainer_set_optimizer(trainer, words, 2) == SPIRE_OK);
  EXPECT(train_steps(trainer, 1).lr == 0.5);
  EXPECT(spire_trainer_load_weights(other, file) == SPIRE_OK);
  EXPECT(spire_trainer_load_weights(trainer, file) == SPIRE_OK);
  EXPECT(spire_trainer_hash(trainer, &hash) == SPIRE_OK);
  EXPECT(spire_trainer_hash(other, &loaded) == SPIRE_OK && loaded == hash);
  words[0] = "batch_size=4";
  EXPECT_ERROR(spire_trainer_set_optimizer(trainer, words, 2), SPIRE_CONFIG,
               "'batch_size=4' changes no key of optimizer; a word is optimizer.KEY=VALUE");
  words[0] = "optimizer.name=lamb";
  EXPECT_ERROR(spire_trainer_set_optimizer(trainer, words, 1), SPIRE_CONFIG, "another optimizer");
  EXPECT(remove(file) == 0);
  spire_trainer_destroy(other);
  spire_trainer_destroy(trainer);
}

static int count_epoch(void* user, int64_t epoch, const spire_evaluation* evaluation) {
  Counts* counts = user;
  EXPECT(epoch == ++counts->evaluations && evaluation->size == sizeof *evaluation);
  EXPECT(evaluation->samples == samples);
  return 0;
}

/* In two parts, the second of which ends early; with the bits of a run. */
static void test_fit(const char* folder) {
  spire_config* config = config_of_run(folder, "as_fitted");
  spire_train_options run_options = {.size = sizeof run_options};
  run_options.data = &data;
  run_options.overwrite = 1;
  spire_run* run = NULL;
  spire_summary summary = {.size = sizeof summary};
  EXPECT(spire_train(config, &run_options, &run) == SPIRE_OK);
  EXPECT(spire_run_summary(run, &summary) == SPIRE_OK);

  spire_trainer* trainer = NULL;
  EXPECT(spire_trainer_create_on(config, &data, &trainer) == SPIRE_OK);
  Counts counts = {0};
  spire_fit_options options = {.size = sizeof options};
  options.on_step = count_step;
  options.on_epoch = count_epoch;
  options.user = &counts;
  options.steps = 3;
  spire_evaluation evaluation = {.size = sizeof evaluation};
  EXPECT(spire_trainer_fit(trainer, &options, NULL) == SPIRE_OK && counts.steps == 3);
  counts.evaluations = 0; /* that of the end of the steps */
  options.steps = 0;
  counts.end_after = 10;
  EXPECT(spire_trainer_fit(trainer, &options, NULL) == SPIRE_OK && counts.steps == 10);
  spire_cancel* cancel = NULL;
  EXPECT(spire_cancel_create(&cancel) == SPIRE_OK);
  spire_cancel_request(cancel);
  spire_fit_options cancelled = {.size = sizeof cancelled};
  cancelled.cancel = cancel;
  int64_t steps = 0;
  EXPECT(spire_trainer_fit(trainer, &cancelled, &evaluation) == SPIRE_OK);
  EXPECT(evaluation.samples == 0);
  EXPECT(spire_trainer_steps_done(trainer, &steps) == SPIRE_OK && steps == 10);
  EXPECT(spire_trainer_fit(trainer, NULL, &evaluation) == SPIRE_OK);
  EXPECT(spire_trainer_steps_done(trainer, &steps) == SPIRE_OK && steps == 80);
  EXPECT(evaluation.samples == samples && evaluation.loss == summary.loss);
  spire_evaluation again = {.size = sizeof again};
  EXPECT(spire_trainer_evaluate_test_data(trainer, &again) == SPIRE_OK);
  EXPECT(again.loss == evaluation.loss && again.metric == evaluation.metric);
  uint64_t hash = 0;
  char digits[17];
  EXPECT(spire_trainer_hash(trainer, &hash) == SPIRE_OK);
  snprintf(digits, sizeof digits, "%016llx", (unsigned long long)hash);
  EXPECT(strcmp(digits, summary.parameter_hash) == 0);

  options.steps = -1;
  EXPECT_ERROR(spire_trainer_fit(trainer, &options, NULL), SPIRE_CONFIG, "-1 is negative");
  spire_trainer* of_batches = make_trainer();
  EXPECT_ERROR(spire_trainer_fit(of_batches, NULL, NULL), SPIRE_CONFIG, "has no datasets");
  EXPECT_ERROR(spire_trainer_evaluate_test_data(of_batches, &again), SPIRE_CONFIG,
               "has no datasets");
  spire_trainer_destroy(of_batches);
  spire_trainer_destroy(trainer);
  spire_cancel_destroy(cancel);
  spire_run_destroy(run);
  spire_config_destroy(config);
}

static void test_config_files(const char* folder) {
  char file[4096];
  snprintf(file, sizeof file, "%s/of_c.yaml", folder);
  FILE* out = fopen(file, "w");
  EXPECT(out != NULL);
  if (!out) return;
  fputs(yaml, out);
  fclose(out);
  const char* files[] = {file, "/nowhere.yaml"};
  const char* word = "epochs=1";
  spire_config* config = NULL;
  EXPECT(spire_config_load(files, 1, &word, 1, &config) == SPIRE_OK);
  spire_trainer* trainer = NULL;
  int64_t steps = 0;
  EXPECT(spire_trainer_create_on(config, &data, &trainer) == SPIRE_OK);
  EXPECT(spire_trainer_fit(trainer, NULL, NULL) == SPIRE_OK);
  EXPECT(spire_trainer_steps_done(trainer, &steps) == SPIRE_OK && steps == 8);
  EXPECT_ERROR(spire_config_load(files, 2, NULL, 0, &config), SPIRE_CONFIG, "/nowhere.yaml");
  EXPECT_ERROR(spire_config_load(NULL, 1, NULL, 0, &config), SPIRE_CONFIG, "files is NULL");
  spire_trainer_destroy(trainer);
  spire_config_destroy(config);
}

static void test_weights(void) {
  spire_trainer* trainer = make_trainer();
  if (!trainer) return;
  size_t count = 0;
  EXPECT(spire_trainer_weights(trainer, &count) == SPIRE_OK && count == 4);
  for (size_t i = 0; i < count; ++i) {
    spire_weight weight = {.size = sizeof weight};
    EXPECT(spire_trainer_weight(trainer, i, &weight) == SPIRE_OK);
    EXPECT(weight.trained == 1 && weight.rank >= 1 && weight.elements >= weight.shape[0]);
    size_t elements = (size_t)weight.elements;
    float* values = malloc(elements * sizeof *values);
    for (size_t k = 0; k < elements; ++k) values[k] = (float)k;
    EXPECT(spire_trainer_write_weight(trainer, weight.name, values, elements) == SPIRE_OK);
    memset(values, 0, elements * sizeof *values);
    EXPECT(spire_trainer_read_weight(trainer, weight.name, values, elements) == SPIRE_OK);
    for (size_t k = 0; k < elements; ++k) EXPECT(values[k] == (float)k);
    EXPECT_ERROR(spire_trainer_read_weight(trainer, weight.name, values, elements - 1),
                 SPIRE_CONFIG, weight.name);
    free(values);
  }
  float value = 0;
  spire_weight weight = {.size = sizeof weight};
  EXPECT_ERROR(spire_trainer_weight(trainer, count, &weight), SPIRE_CONFIG, "there are 4 weights");
  EXPECT_ERROR(spire_trainer_write_weight(trainer, "nothing", &value, 1), SPIRE_CONFIG, "nothing");
  spire_trainer_destroy(trainer);
}

/* Twice the gradient at half the rate is the same step; a rejected one is none. */
static void test_gradients(void) {
  spire_trainer *parts = make_trainer(), *whole = make_trainer();
  if (!parts || !whole) return;
  const double rate = 0.125, half = rate / 2;
  spire_step computed = {.size = sizeof computed};
  spire_step updated = computed, stepped = computed;
  float* gradient = NULL;
  size_t elements = 0, weights = 0;
  EXPECT_ERROR(spire_trainer_update(parts, NULL, NULL), SPIRE_CONFIG, "there are no gradients");
  EXPECT(spire_trainer_compute_gradients(parts, first_batch, 2, &computed) == SPIRE_OK);
  EXPECT(spire_trainer_reject(parts) == SPIRE_OK);
  EXPECT(spire_trainer_compute_gradients(parts, first_batch, 2, &computed) == SPIRE_OK);
  EXPECT(spire_trainer_weights(parts, &weights) == SPIRE_OK);
  for (size_t i = 0; i < weights; ++i) {
    spire_weight weight = {.size = sizeof weight};
    EXPECT(spire_trainer_weight(parts, i, &weight) == SPIRE_OK);
    EXPECT(spire_trainer_gradient(parts, weight.name, &gradient, &elements) == SPIRE_OK);
    EXPECT(elements == (size_t)weight.elements);
    for (size_t k = 0; k < elements; ++k) gradient[k] *= 2;
  }
  EXPECT_ERROR(spire_trainer_gradient(parts, "nothing", &gradient, NULL), SPIRE_CONFIG, "nothing");
  EXPECT_ERROR(spire_trainer_save(parts, "nowhere"), SPIRE_CONFIG, "wait for it to end");
  EXPECT(spire_trainer_update(parts, &half, &updated) == SPIRE_OK);
  EXPECT(spire_trainer_step(whole, first_batch, 2, &rate, &stepped) == SPIRE_OK);
  EXPECT(updated.loss == stepped.loss && computed.loss == stepped.loss);
  uint64_t hash = 0, expected = 0;
  EXPECT(spire_trainer_hash(parts, &hash) == SPIRE_OK);
  EXPECT(spire_trainer_hash(whole, &expected) == SPIRE_OK);
  EXPECT(hash == expected);
  spire_trainer_destroy(parts);
  spire_trainer_destroy(whole);
}

/* The state goes through memory, and a session has the outputs of the trainer. */
static void test_states_and_sessions(void) {
  spire_trainer *trainer = make_trainer(), *other = make_trainer();
  if (!trainer || !other) return;
  spire_session* session = NULL;
  EXPECT(spire_session_create(trainer, 4, &session) == SPIRE_OK);
  EXPECT(spire_trainer_step(trainer, first_batch, 2, NULL, NULL) == SPIRE_OK);
  spire_bytes* bytes = NULL;
  EXPECT(spire_trainer_save_bytes(trainer, &bytes) == SPIRE_OK);
  size_t size = spire_bytes_size(bytes);
  EXPECT(spire_trainer_load_bytes(other, spire_bytes_data(bytes), size) == SPIRE_OK);
  EXPECT_ERROR(spire_trainer_load_bytes(other, spire_bytes_data(bytes), size / 2), SPIRE_CHECKPOINT,
               "in memory");
  uint64_t hash = 0, expected = 0;
  EXPECT(spire_trainer_hash(other, &hash) == SPIRE_OK);
  EXPECT(spire_trainer_hash(trainer, &expected) == SPIRE_OK);
  EXPECT(hash == expected);
  size_t columns = 0;
  int64_t numbers = 0;
  EXPECT(spire_session_shape(session, &columns, &numbers) == SPIRE_OK);
  EXPECT(columns == 1 && numbers == 2);
  float of_session[2 * batch], of_trainer[2 * batch];
  EXPECT(spire_session_update(session, trainer) == SPIRE_OK);
  EXPECT(spire_session_predict(session, first_batch, 1, of_session, 2 * batch) == SPIRE_OK);
  EXPECT(spire_trainer_predict(trainer, first_batch, of_trainer, 2 * batch) == SPIRE_OK);
  for (int i = 0; i < 2 * batch; ++i)
    EXPECT(of_session[i] - of_trainer[i] < 1e-5f && of_trainer[i] - of_session[i] < 1e-5f);
  EXPECT_ERROR(spire_session_predict(session, first_batch, 1, of_session, 3), SPIRE_CONFIG,
               "room is 3; 2 numbers are needed for each of");
  EXPECT_ERROR(spire_session_create(trainer, 0, &session), SPIRE_CONFIG, "less than 1");
  EXPECT_ERROR(spire_session_open("/nowhere", 1, &session), SPIRE_CHECKPOINT, "/nowhere");
  spire_bytes_destroy(bytes);
  spire_bytes_destroy(NULL);
  spire_session_destroy(session);
  spire_trainer_destroy(trainer);
  spire_trainer_destroy(other);
}

static void test_devices(void) {
  spire_devices* devices = NULL;
  size_t count = 0;
  spire_device device = {.size = sizeof device};
  EXPECT(spire_devices_create(&devices) == SPIRE_OK);
  EXPECT(spire_devices_count(devices, &count) == SPIRE_OK && count >= 1);
  EXPECT(spire_devices_get(devices, 0, &device) == SPIRE_OK);
  EXPECT(strcmp(device.id, "cpu") == 0 && device.host_number == -1);
  EXPECT(device.memory_used + device.memory_free == device.memory_total);
  EXPECT(device.utilization == -1 && strcmp(device.problem, "") == 0);
  EXPECT_ERROR(spire_devices_get(devices, count, &device), SPIRE_CONFIG,
               "spire_devices_get: index");
  EXPECT_ERROR(spire_devices_get(NULL, 0, &device), SPIRE_CONFIG, "devices is NULL");
  spire_devices_destroy(devices);
  spire_devices_destroy(NULL);
}

static void test_memory(void) {
  spire_trainer* trainer = make_trainer();
  if (!trainer) return;
  size_t count = 0;
  spire_memory memory = {.size = sizeof memory};
  EXPECT(spire_trainer_devices(trainer, &count) == SPIRE_OK && count == 1);
  EXPECT(spire_trainer_memory(trainer, 0, &memory) == SPIRE_OK);
  EXPECT(strncmp(memory.device, "cpu:", 4) == 0 && memory.in_use > 0);
  EXPECT(memory.peak >= memory.in_use);
  EXPECT_ERROR(spire_trainer_memory(trainer, 1, &memory), SPIRE_CONFIG,
               "index is 1; there is 1 device");
  EXPECT(spire_trainer_release_memory(trainer) == SPIRE_OK);
  EXPECT_ERROR(spire_trainer_release_memory(NULL), SPIRE_CONFIG, "trainer is NULL");
  spire_trainer_destroy(trainer);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  make_data();
  test_versions();
  test_run(argv[1]);
  test_ending_early(argv[1]);
  test_trainer(argv[1]);
  test_fit(argv[1]);
  test_config_files(argv[1]);
  test_weights();
  test_gradients();
  test_states_and_sessions();
  test_devices();
  test_memory();
  test_errors(argv[1]);
  test_null();
  test_sizes();
  printf("%d failures\n", failures);
  return failures > 0;
}
