/* c_api_test FOLDER: uses every function of <spire/c.h> from C99; the runs write into FOLDER.
 * Prints what does not hold, and exits with 1 then. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spire/c.h>

enum { samples = 256, batch = 32, classes = 2 };

static int failures = 0;

#define EXPECT(holds)                                                                \
  do {                                                                               \
    if (!(holds)) {                                                                  \
      printf("line %d: %s; last error: %s\n", __LINE__, #holds, spire_last_error()); \
      ++failures;                                                                    \
    }                                                                                \
  } while (0)

/* The call fails with this status, and its message has these words. */
#define EXPECT_ERROR(call, status, words)                \
  do {                                                   \
    EXPECT((call) == (status));                          \
    EXPECT(strstr(spire_last_error(), (words)) != NULL); \
  } while (0)

static float points[samples][2];
static int32_t labels[samples];

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

static spire_config* make_config(const char* word) {
  spire_config* config = NULL;
  EXPECT(spire_config_create(yaml, &word, word ? 1 : 0, &config) == SPIRE_OK);
  return config;
}

static spire_config* config_of_run(const char* folder, const char* name) {
  char word[4096];
  snprintf(word, sizeof word, "output=%s/%s", folder, name);
  return make_config(word);
}

static const int64_t point_shape[] = {samples, 2};
static const int64_t label_shape[] = {samples};
static const spire_array arrays[] = {{"features", points, SPIRE_F32, 2, point_shape, NULL},
                                     {"labels", labels, SPIRE_I32, 1, label_shape, NULL}};
static const spire_data data = {arrays, 2, arrays, 2, 0};

typedef struct Counts {
  int64_t steps, evaluations, end_after;
  double first_loss, last_loss;
} Counts;

static int count_step(void* user, const spire_step* step) {
  Counts* counts = user;
  if (++counts->steps == 1) counts->first_loss = step->loss;
  counts->last_loss = step->loss;
  return counts->end_after > 0 && step->step >= counts->end_after;
}

static int count_evaluation(void* user, const spire_evaluation* evaluation) {
  Counts* counts = user;
  ++counts->evaluations;
  EXPECT(evaluation->samples == samples);
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
  spire_train_options options = {0};
  options.data = &data;
  options.on_step = count_step;
  options.on_evaluation = count_evaluation;
  options.user = &counts;
  options.overwrite = 1;
  spire_run* run = NULL;
  EXPECT(spire_train(config, &options, &run) == SPIRE_OK);
  if (!run) return;
  spire_summary summary;
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
  spire_train_options options = {0};
  options.data = &data;
  options.on_step = count_step;
  options.user = &counts;
  options.overwrite = 1;
  EXPECT(spire_cancel_create(&options.cancel) == SPIRE_OK);
  spire_run* run = NULL;
  EXPECT(spire_train(config, &options, &run) == SPIRE_OK);
  spire_summary summary;
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

static spire_trainer* make_trainer(void) {
  spire_config* config = make_config(NULL);
  const int64_t shape[] = {2};
  spire_column columns[] = {{"features", SPIRE_F32, 1, shape}, {"labels", SPIRE_I32, 0, NULL}};
  spire_sample_spec spec = {columns, 2, classes, 0, 0};
  spire_trainer* trainer = NULL;
  EXPECT(spire_trainer_create(config, &spec, &trainer) == SPIRE_OK);
  spire_config_destroy(config);
  return trainer;
}

static spire_step train_steps(spire_trainer* trainer, int steps) {
  spire_step step = {0};
  for (int i = 0; i < steps; ++i) {
    int first = i * batch % samples;
    const void* columns[] = {points[first], labels + first};
    EXPECT(spire_trainer_step(trainer, columns, batch, NULL, &step) == SPIRE_OK);
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

  const void* all[] = {points, labels};
  spire_evaluation evaluation;
  EXPECT(spire_trainer_evaluate(trainer, all, samples, &evaluation) == SPIRE_OK);
  EXPECT(evaluation.metric > 0.9 && evaluation.samples == samples);

  /* The evaluation's accuracy is that of the predictions. */
  static float logits[samples][classes];
  EXPECT(spire_trainer_predict(trainer, points, samples, logits[0], samples * classes) == SPIRE_OK);
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
  EXPECT(train_steps(trainer, 1).loss == train_steps(other, 1).loss);
  EXPECT(remove(file) == 0);
  spire_trainer_destroy(other);
  spire_trainer_destroy(trainer);
}

static int count_epoch(void* user, int64_t epoch, const spire_evaluation* evaluation) {
  Counts* counts = user;
  EXPECT(epoch == ++counts->evaluations && evaluation->samples == samples);
  return 0;
}

/* In two parts, the second of which ends early; with the bits of a run. */
static void test_fit(const char* folder) {
  spire_config* config = config_of_run(folder, "as_fitted");
  spire_train_options run_options = {0};
  run_options.data = &data;
  run_options.overwrite = 1;
  spire_run* run = NULL;
  spire_summary summary;
  EXPECT(spire_train(config, &run_options, &run) == SPIRE_OK);
  EXPECT(spire_run_summary(run, &summary) == SPIRE_OK);

  spire_trainer* trainer = NULL;
  EXPECT(spire_trainer_create_on(config, &data, &trainer) == SPIRE_OK);
  Counts counts = {0};
  spire_fit_options options = {0};
  options.on_step = count_step;
  options.on_epoch = count_epoch;
  options.user = &counts;
  options.steps = 3;
  spire_evaluation evaluation;
  EXPECT(spire_trainer_fit(trainer, &options, NULL) == SPIRE_OK && counts.steps == 3);
  counts.evaluations = 0; /* that of the end of the steps */
  options.steps = 0;
  counts.end_after = 10;
  EXPECT(spire_trainer_fit(trainer, &options, NULL) == SPIRE_OK && counts.steps == 10);
  spire_cancel* cancel = NULL;
  EXPECT(spire_cancel_create(&cancel) == SPIRE_OK);
  spire_cancel_request(cancel);
  spire_fit_options cancelled = {0};
  cancelled.cancel = cancel;
  int64_t steps = 0;
  EXPECT(spire_trainer_fit(trainer, &cancelled, &evaluation) == SPIRE_OK);
  EXPECT(evaluation.samples == 0);
  EXPECT(spire_trainer_steps_done(trainer, &steps) == SPIRE_OK && steps == 10);
  EXPECT(spire_trainer_fit(trainer, NULL, &evaluation) == SPIRE_OK);
  EXPECT(spire_trainer_steps_done(trainer, &steps) == SPIRE_OK && steps == 80);
  EXPECT(evaluation.samples == samples && evaluation.loss == summary.loss);
  spire_evaluation again;
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
    spire_weight weight;
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
  spire_weight weight;
  EXPECT_ERROR(spire_trainer_weight(trainer, count, &weight), SPIRE_CONFIG, "there are 4 weights");
  EXPECT_ERROR(spire_trainer_write_weight(trainer, "nothing", &value, 1), SPIRE_CONFIG, "nothing");
  spire_trainer_destroy(trainer);
}

/* Twice the gradient at half the rate is the same step; a rejected one is none. */
static void test_gradients(void) {
  spire_trainer *parts = make_trainer(), *whole = make_trainer();
  if (!parts || !whole) return;
  const int64_t shapes[] = {batch, 2, batch};
  spire_array arrays[] = {{"features", points, SPIRE_F32, 2, shapes, NULL},
                          {"labels", labels, SPIRE_I32, 1, shapes + 2, NULL}};
  const double rate = 0.125, half = rate / 2;
  spire_step computed, updated, stepped;
  float* gradient = NULL;
  size_t elements = 0, weights = 0;
  EXPECT_ERROR(spire_trainer_update(parts, NULL, NULL), SPIRE_CONFIG, "there are no gradients");
  EXPECT(spire_trainer_compute_gradients(parts, arrays, 2, &computed) == SPIRE_OK);
  EXPECT(spire_trainer_reject(parts) == SPIRE_OK);
  EXPECT(spire_trainer_compute_gradients(parts, arrays, 2, &computed) == SPIRE_OK);
  EXPECT(spire_trainer_weights(parts, &weights) == SPIRE_OK);
  for (size_t i = 0; i < weights; ++i) {
    spire_weight weight;
    EXPECT(spire_trainer_weight(parts, i, &weight) == SPIRE_OK);
    EXPECT(spire_trainer_gradient(parts, weight.name, &gradient, &elements) == SPIRE_OK);
    EXPECT(elements == (size_t)weight.elements);
    for (size_t k = 0; k < elements; ++k) gradient[k] *= 2;
  }
  EXPECT_ERROR(spire_trainer_gradient(parts, "nothing", &gradient, NULL), SPIRE_CONFIG, "nothing");
  EXPECT_ERROR(spire_trainer_save(parts, "nowhere"), SPIRE_CONFIG, "wait for it to end");
  EXPECT(spire_trainer_update(parts, &half, &updated) == SPIRE_OK);
  EXPECT(spire_trainer_step_arrays(whole, arrays, 2, &rate, &stepped) == SPIRE_OK);
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
  const int64_t shapes[] = {batch, 2, batch};
  spire_array arrays[] = {{"features", points, SPIRE_F32, 2, shapes, NULL},
                          {"labels", labels, SPIRE_I32, 1, shapes + 2, NULL}};
  spire_session* session = NULL;
  EXPECT(spire_session_create(trainer, 4, &session) == SPIRE_OK);
  EXPECT(spire_trainer_step_arrays(trainer, arrays, 2, NULL, NULL) == SPIRE_OK);
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
  EXPECT(spire_session_predict(session, arrays, 1, of_session, 2 * batch) == SPIRE_OK);
  EXPECT(spire_trainer_predict_array(trainer, arrays, of_trainer, 2 * batch) == SPIRE_OK);
  for (int i = 0; i < 2 * batch; ++i)
    EXPECT(of_session[i] - of_trainer[i] < 1e-5f && of_trainer[i] - of_session[i] < 1e-5f);
  EXPECT_ERROR(spire_session_predict(session, arrays, 1, of_session, 3), SPIRE_CONFIG,
               "room is 3; 2 numbers are needed for each of");
  EXPECT_ERROR(spire_session_create(trainer, 0, &session), SPIRE_CONFIG, "less than 1");
  EXPECT_ERROR(spire_session_open("/nowhere", 1, &session), SPIRE_CHECKPOINT, "/nowhere");
  spire_bytes_destroy(bytes);
  spire_bytes_destroy(NULL);
  spire_session_destroy(session);
  spire_trainer_destroy(trainer);
  spire_trainer_destroy(other);
}

static void test_errors(const char* folder) {
  spire_config* config = NULL;
  EXPECT_ERROR(spire_config_create("optimizer: {lrr: 1}", NULL, 0, &config), SPIRE_CONFIG, "lrr");
  const char* word = "epochs=many";
  EXPECT_ERROR(spire_config_create("", &word, 1, &config), SPIRE_CONFIG, "epochs");

  config = config_of_run(folder, "errors");
  spire_array bad[] = {arrays[0], arrays[1]};
  const int64_t short_shape[] = {samples - 1};
  bad[1].shape = short_shape;
  spire_data bad_data = {bad, 2, NULL, 0, 0};
  spire_train_options options = {0};
  options.data = &bad_data;
  EXPECT_ERROR(spire_train(config, &options, NULL), SPIRE_DATA, "labels");
  bad[1].rank = 7;
  EXPECT_ERROR(spire_train(config, &options, NULL), SPIRE_CONFIG, "rank is 7");
  bad[1] = arrays[1];
  bad[1].dtype = (spire_dtype)9;
  EXPECT_ERROR(spire_train(config, &options, NULL), SPIRE_CONFIG, "spire_dtype");
  spire_config_destroy(config);

  spire_trainer* trainer = make_trainer();
  const void* columns[] = {points, labels};
  EXPECT_ERROR(spire_trainer_step(trainer, columns, batch - 1, NULL, NULL), SPIRE_CONFIG, "batch");
  EXPECT_ERROR(spire_trainer_load(trainer, "/nowhere.h5"), SPIRE_CHECKPOINT, "/nowhere.h5");
  float logit;
  EXPECT_ERROR(spire_trainer_predict(trainer, points, 1, &logit, 1), SPIRE_CONFIG, "room is 1");
  int32_t wrong[batch] = {0};
  wrong[7] = classes;
  columns[1] = wrong;
  EXPECT_ERROR(spire_trainer_step(trainer, columns, batch, NULL, NULL), SPIRE_DATA,
               "sample 7: column 'labels' has 2; numbers are 0 to 1");
  columns[1] = labels;
  const int64_t batch_shape[] = {batch, 2}, wide_shape[] = {batch, 9}, label_shape[] = {batch};
  spire_array given[] = {{"features", points, SPIRE_F32, 2, batch_shape, NULL},
                         {"labels", labels, SPIRE_I32, 1, label_shape, NULL}};
  spire_array other[] = {given[0], given[1]};
  other[0].shape = wide_shape;
  EXPECT_ERROR(spire_trainer_step_arrays(trainer, other, 2, NULL, NULL), SPIRE_CONFIG,
               "the shape of its array is (32, 9); it must be (32, 2)");
  EXPECT_ERROR(spire_trainer_evaluate_arrays(trainer, other, 2, NULL), SPIRE_CONFIG, "(32, 9)");
  other[0] = given[0];
  other[1].dtype = SPIRE_F64;
  EXPECT_ERROR(spire_trainer_step_arrays(trainer, other, 2, NULL, NULL), SPIRE_CONFIG,
               "column 'labels': its numbers are fp64; convert them to int32");
  /* Doubles and columns of a matrix are the same points. */
  double wide_points[batch * 2];
  for (int i = 0; i < batch; ++i)
    for (int f = 0; f < 2; ++f) wide_points[f * batch + i] = points[i][f];
  const int64_t by_column[] = {1, batch};
  other[0].data = wide_points;
  other[0].dtype = SPIRE_F64;
  other[0].strides = by_column;
  float logits[batch * classes], same[batch * classes];
  EXPECT(spire_trainer_predict_array(trainer, other, same, batch * classes) == SPIRE_OK);
  EXPECT(spire_trainer_predict_array(trainer, given, logits, batch * classes) == SPIRE_OK);
  EXPECT(memcmp(same, logits, sizeof same) == 0);
  /* More rows than any memory holds. */
  spire_array endless = given[0];
  int64_t endless_shape[SPIRE_MAX_RANK];
  for (int i = 0; i < endless.rank; ++i) endless_shape[i] = endless.shape[i];
  endless_shape[0] = (int64_t)1 << 61;
  endless.shape = endless_shape;
  EXPECT_ERROR(spire_trainer_predict_array(trainer, &endless, logits, SIZE_MAX), SPIRE_CONFIG,
               "rows");
  EXPECT_ERROR(spire_trainer_predict(trainer, endless.data, (int64_t)1 << 61, logits, SIZE_MAX),
               SPIRE_CONFIG, "no memory holds the outputs of 2305843009213693952 rows");
  EXPECT_ERROR(spire_trainer_step_arrays(trainer, given, 1, NULL, NULL), SPIRE_CONFIG,
               "1 column given, but the data has 2");
  EXPECT_ERROR(spire_trainer_step_arrays(trainer, NULL, 2, NULL, NULL), SPIRE_CONFIG,
               "arrays is NULL");
  EXPECT(spire_trainer_predict_array(trainer, given, logits, batch * classes) == SPIRE_OK);
  EXPECT(spire_trainer_evaluate_arrays(trainer, given, 2, NULL) == SPIRE_OK);
  EXPECT(spire_trainer_step_arrays(trainer, given, 2, NULL, NULL) == SPIRE_OK);
  const int64_t two[] = {2};
  spire_column declared[] = {{"features", SPIRE_F64, 1, two}, {"labels", SPIRE_I32, 0, NULL}};
  spire_sample_spec declared_spec = {declared, 2, classes, 0, 0};
  spire_config* fresh = make_config(NULL);
  spire_trainer* none = NULL;
  EXPECT_ERROR(spire_trainer_create(fresh, &declared_spec, &none), SPIRE_CONFIG,
               "column 'features' is declared fp64; declare fp32");
  spire_config_destroy(fresh);
  /* It goes on after these. */
  EXPECT(spire_trainer_step(trainer, columns, batch, NULL, NULL) == SPIRE_OK);
  spire_trainer_destroy(trainer);
}

static void test_devices(void) {
  spire_devices* devices = NULL;
  size_t count = 0;
  spire_device device;
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
  spire_memory memory;
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

static void test_null(void) {
  spire_config* config = make_config(NULL);
  spire_trainer* trainer = make_trainer();
  EXPECT_ERROR(spire_config_create(NULL, NULL, 0, &config), SPIRE_CONFIG, "yaml is NULL");
  EXPECT_ERROR(spire_config_create("", NULL, 1, &config), SPIRE_CONFIG, "words is NULL");
  EXPECT_ERROR(spire_config_create("", NULL, 0, NULL), SPIRE_CONFIG, "config is NULL");
  EXPECT_ERROR(spire_cancel_create(NULL), SPIRE_CONFIG, "cancel is NULL");
  EXPECT_ERROR(spire_train(NULL, NULL, NULL), SPIRE_CONFIG, "spire_train: config is NULL");
  spire_array without_data = {"features", NULL, SPIRE_F32, 2, point_shape, NULL};
  spire_data null_data = {&without_data, 1, NULL, 0, 0};
  spire_train_options options = {0};
  options.data = &null_data;
  EXPECT_ERROR(spire_train(config, &options, NULL), SPIRE_CONFIG, "train[0]: data is NULL");
  EXPECT_ERROR(spire_run_summary(NULL, NULL), SPIRE_CONFIG, "run is NULL");
  EXPECT_ERROR(spire_trainer_create(config, NULL, &trainer), SPIRE_CONFIG, "spec is NULL");
  const void* columns[] = {points, NULL};
  EXPECT_ERROR(spire_trainer_step(NULL, columns, batch, NULL, NULL), SPIRE_CONFIG,
               "trainer is NULL");
  EXPECT_ERROR(spire_trainer_step(trainer, NULL, batch, NULL, NULL), SPIRE_CONFIG,
               "columns is NULL");
  EXPECT_ERROR(spire_trainer_step(trainer, columns, batch, NULL, NULL), SPIRE_CONFIG,
               "columns[1] is NULL");
  EXPECT_ERROR(spire_trainer_predict(trainer, NULL, 1, NULL, 0), SPIRE_CONFIG, "rows is NULL");
  EXPECT_ERROR(spire_trainer_save(trainer, NULL), SPIRE_CONFIG, "file is NULL");
  EXPECT_ERROR(spire_trainer_read_weight(trainer, NULL, NULL, 0), SPIRE_CONFIG, "name is NULL");
  spire_config_destroy(NULL);
  spire_trainer_destroy(NULL);
  spire_run_destroy(NULL);
  spire_cancel_destroy(NULL);
  spire_cancel_request(NULL);
  spire_trainer_destroy(trainer);
  spire_config_destroy(config);
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
  printf("%d failures\n", failures);
  return failures > 0;
}
