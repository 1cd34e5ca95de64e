/* Calls that fail: their statuses and messages, and what stays as it was. */
#include "tests/c_api/c_api_test.h"

static void refuse_batches(spire_trainer* trainer) {
  spire_array given[] = {first_batch[0], first_batch[1]};
  const int64_t fewer[] = {batch - 1, 2}, wide[] = {batch, 9}, negative[] = {-batch, 2};
  given[0].shape = given[1].shape = fewer;
  EXPECT_ERROR(spire_trainer_step(trainer, given, 2, NULL, NULL), SPIRE_CONFIG, "a batch of 31");
  given[0].shape = first_batch[0].shape;
  EXPECT_ERROR(spire_trainer_step(trainer, given, 2, NULL, NULL), SPIRE_CONFIG,
               "column 'labels': the shape of its array is (31); it must be (32)");
  given[0].shape = given[1].shape = negative;
  EXPECT_ERROR(spire_trainer_step(trainer, given, 2, NULL, NULL), SPIRE_CONFIG, "count is -32");
  given[0].shape = wide;
  EXPECT_ERROR(spire_trainer_step(trainer, given, 2, NULL, NULL), SPIRE_CONFIG,
               "the shape of its array is (32, 9); it must be (32, 2)");
  EXPECT_ERROR(spire_trainer_evaluate(trainer, given, 2, NULL), SPIRE_CONFIG, "(32, 9)");
  given[0].rank = 0;
  EXPECT_ERROR(spire_trainer_step(trainer, given, 2, NULL, NULL), SPIRE_CONFIG, "count is 0");
  given[0] = first_batch[1];
  given[1] = first_batch[0];
  EXPECT_ERROR(spire_trainer_step(trainer, given, 2, NULL, NULL), SPIRE_CONFIG,
               "column 'features': its array is that of column 'labels'");
  given[0] = first_batch[0];
  given[1] = first_batch[1];
  given[1].dtype = SPIRE_F64;
  EXPECT_ERROR(spire_trainer_step(trainer, given, 2, NULL, NULL), SPIRE_CONFIG,
               "column 'labels': its numbers are fp64; convert them to int32");
  given[1].dtype = SPIRE_I32;
  int32_t wrong[batch] = {0};
  wrong[7] = classes;
  given[1].data = wrong;
  EXPECT_ERROR(spire_trainer_step(trainer, given, 2, NULL, NULL), SPIRE_DATA,
               "sample 7: column 'labels' has 2; numbers are 0 to 1");
  EXPECT_ERROR(spire_trainer_step(trainer, given, 1, NULL, NULL), SPIRE_CONFIG,
               "1 column given, but the data has 2");
  EXPECT_ERROR(spire_trainer_step(trainer, NULL, 0, NULL, NULL), SPIRE_CONFIG, "count is 0");
}

static void refuse_rows(spire_trainer* trainer) {
  float logits[batch * classes], same[batch * classes];
  spire_array given = first_batch[0];
  int64_t shape[] = {1, 2};
  given.shape = shape;
  EXPECT_ERROR(spire_trainer_predict(trainer, &given, logits, 1), SPIRE_CONFIG, "room is 1");
  shape[0] = -1;
  EXPECT_ERROR(spire_trainer_predict(trainer, &given, logits, 1), SPIRE_CONFIG,
               "spire_trainer_predict: -1 is not a number of rows");
  shape[0] = (int64_t)1 << 61; /* more than any memory holds */
  EXPECT_ERROR(spire_trainer_predict(trainer, &given, logits, SIZE_MAX), SPIRE_CONFIG,
               "no memory holds the outputs of 2305843009213693952 rows");
  EXPECT_ERROR(spire_trainer_predict(trainer, &first_batch[1], logits, batch * classes),
               SPIRE_CONFIG, "its array is that of column 'labels'");
  /* Doubles and columns of a matrix are the same points. */
  double wide_points[batch * 2];
  for (int i = 0; i < batch; ++i)
    for (int f = 0; f < 2; ++f) wide_points[f * batch + i] = points[i][f];
  const int64_t by_column[] = {1, batch};
  given = first_batch[0];
  given.data = wide_points;
  given.dtype = SPIRE_F64;
  given.strides = by_column;
  EXPECT(spire_trainer_predict(trainer, &given, same, batch * classes) == SPIRE_OK);
  EXPECT(spire_trainer_predict(trainer, first_batch, logits, batch * classes) == SPIRE_OK);
  EXPECT(memcmp(same, logits, sizeof same) == 0);
}

void test_errors(const char* folder) {
  spire_config* config = NULL;
  EXPECT_ERROR(spire_config_create("optimizer: {lrr: 1}", NULL, 0, &config), SPIRE_CONFIG, "lrr");
  const char* word = "epochs=many";
  EXPECT_ERROR(spire_config_create("", &word, 1, &config), SPIRE_CONFIG, "epochs");

  config = config_of_run(folder, "errors");
  spire_array bad[] = {arrays[0], arrays[1]};
  const int64_t short_shape[] = {samples - 1};
  bad[1].shape = short_shape;
  spire_data bad_data = {sizeof bad_data, bad, 2, NULL, 0, 0};
  spire_train_options options = {.size = sizeof options};
  options.data = &bad_data;
  EXPECT_ERROR(spire_train(config, &options, NULL), SPIRE_DATA, "labels");
  bad[1].rank = 7;
  EXPECT_ERROR(spire_train(config, &options, NULL), SPIRE_CONFIG, "rank is 7");
  bad[1] = arrays[1];
  bad[1].dtype = (spire_dtype)9;
  EXPECT_ERROR(spire_train(config, &options, NULL), SPIRE_CONFIG, "spire_dtype");
  spire_config_destroy(config);

  spire_trainer* trainer = make_trainer();
  EXPECT_ERROR(spire_trainer_load(trainer, "/nowhere.h5"), SPIRE_CHECKPOINT, "/nowhere.h5");
  refuse_batches(trainer);
  refuse_rows(trainer);
  const int64_t two[] = {2};
  spire_column declared[] = {{sizeof(spire_column), "features", SPIRE_F64, 1, two},
                             {sizeof(spire_column), "labels", SPIRE_I32, 0, NULL}};
  spire_sample_spec declared_spec = {sizeof declared_spec, declared, 2, classes, 0, 0};
  spire_config* fresh = make_config(NULL);
  spire_trainer* none = NULL;
  EXPECT_ERROR(spire_trainer_create(fresh, &declared_spec, &none), SPIRE_CONFIG,
               "column 'features' is declared fp64; declare fp32");
  spire_config_destroy(fresh);
  /* It goes on after these. */
  EXPECT(spire_trainer_evaluate(trainer, first_batch, 2, NULL) == SPIRE_OK);
  EXPECT(spire_trainer_step(trainer, first_batch, 2, NULL, NULL) == SPIRE_OK);
  spire_trainer_destroy(trainer);
}

void test_null(void) {
  spire_config* config = make_config(NULL);
  spire_trainer* trainer = make_trainer();
  EXPECT_ERROR(spire_config_create(NULL, NULL, 0, &config), SPIRE_CONFIG, "yaml is NULL");
  EXPECT_ERROR(spire_config_create("", NULL, 1, &config), SPIRE_CONFIG, "words is NULL");
  EXPECT_ERROR(spire_config_create("", NULL, 0, NULL), SPIRE_CONFIG, "config is NULL");
  EXPECT_ERROR(spire_cancel_create(NULL), SPIRE_CONFIG, "cancel is NULL");
  EXPECT_ERROR(spire_train(NULL, NULL, NULL), SPIRE_CONFIG, "spire_train: config is NULL");
  spire_array without_data = {sizeof(spire_array), "features", NULL, SPIRE_F32, 2,
                              point_shape,         NULL};
  spire_data null_data = {sizeof null_data, &without_data, 1, NULL, 0, 0};
  spire_train_options options = {.size = sizeof options};
  options.data = &null_data;
  EXPECT_ERROR(spire_train(config, &options, NULL), SPIRE_CONFIG, "train[0]: data is NULL");
  EXPECT_ERROR(spire_run_summary(NULL, NULL), SPIRE_CONFIG, "run is NULL");
  EXPECT_ERROR(spire_trainer_create(config, NULL, &trainer), SPIRE_CONFIG, "spec is NULL");
  spire_array given[] = {first_batch[0], first_batch[1]};
  EXPECT_ERROR(spire_trainer_step(NULL, given, 2, NULL, NULL), SPIRE_CONFIG, "trainer is NULL");
  EXPECT_ERROR(spire_trainer_step(trainer, NULL, 2, NULL, NULL), SPIRE_CONFIG,
               "spire_trainer_step: arrays is NULL");
  given[1].data = NULL;
  EXPECT_ERROR(spire_trainer_step(trainer, given, 2, NULL, NULL), SPIRE_CONFIG,
               "arrays[1]: data is NULL");
  given[0].column = NULL;
  EXPECT_ERROR(spire_trainer_evaluate(trainer, given, 2, NULL), SPIRE_CONFIG,
               "arrays[0]: column is NULL");
  float logits[batch * classes];
  given[0] = first_batch[0];
  given[0].shape = NULL;
  EXPECT_ERROR(spire_trainer_predict(trainer, given, logits, batch * classes), SPIRE_CONFIG,
               "rows[0]: shape is NULL");
  EXPECT_ERROR(spire_trainer_predict(trainer, NULL, NULL, 0), SPIRE_CONFIG, "rows is NULL");
  EXPECT_ERROR(spire_trainer_predict(trainer, first_batch, NULL, 0), SPIRE_CONFIG,
               "outputs is NULL");
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

/* Of each struct that has a size. What is refused changes nothing. */
void test_sizes(void) {
  spire_config* config = make_config(NULL);
  spire_trainer *trainer = make_trainer(), *none = NULL;
  spire_step step = {0};
  EXPECT_ERROR(spire_trainer_step(trainer, first_batch, 2, NULL, &step), SPIRE_CONFIG,
               "spire_trainer_step: step->size is 0; set it to sizeof(spire_step)");
  step.size = sizeof step - 8;
  EXPECT_ERROR(spire_trainer_step(trainer, first_batch, 2, NULL, &step), SPIRE_CONFIG,
               "step->size is 72; set it to sizeof(spire_step)");
  step.size = sizeof step + 8;
  EXPECT_ERROR(spire_trainer_step(trainer, first_batch, 2, NULL, &step), SPIRE_CONFIG,
               "step->size is 88; set it to sizeof(spire_step), which is 80 in this library: "
               "install one as new as the program's <spire/c.h>");
  EXPECT_ERROR(spire_trainer_update(trainer, NULL, &step), SPIRE_CONFIG, "step->size is 88");
  int64_t steps = -1;
  EXPECT(spire_trainer_steps_done(trainer, &steps) == SPIRE_OK && steps == 0 && step.step == 0);

  spire_evaluation evaluation = {0};
  EXPECT_ERROR(spire_trainer_evaluate(trainer, first_batch, 2, &evaluation), SPIRE_CONFIG,
               "evaluation->size is 0; set it to sizeof(spire_evaluation)");
  spire_memory memory = {0};
  EXPECT_ERROR(spire_trainer_memory(trainer, 0, &memory), SPIRE_CONFIG, "sizeof(spire_memory)");
  spire_weight weight = {0};
  EXPECT_ERROR(spire_trainer_weight(trainer, 0, &weight), SPIRE_CONFIG, "sizeof(spire_weight)");
  spire_fit_options fit = {0};
  EXPECT_ERROR(spire_trainer_fit(trainer, &fit, NULL), SPIRE_CONFIG, "options->size is 0");
  spire_devices* devices = NULL;
  spire_device device = {0};
  EXPECT(spire_devices_create(&devices) == SPIRE_OK);
  EXPECT_ERROR(spire_devices_get(devices, 0, &device), SPIRE_CONFIG, "sizeof(spire_device)");
  spire_devices_destroy(devices);

  spire_array given[] = {arrays[0], arrays[1]};
  given[1].size = 0;
  EXPECT_ERROR(spire_trainer_step(trainer, given, 2, NULL, NULL), SPIRE_CONFIG,
               "spire_trainer_step: arrays[1].size is 0; set it to sizeof(spire_array)");
  spire_data data = {.size = sizeof data, .train = given, .train_arrays = 2};
  EXPECT_ERROR(spire_trainer_create_on(config, &data, &none), SPIRE_CONFIG,
               "spire_data: train[1].size is 0");
  data.size = 0;
  EXPECT_ERROR(spire_trainer_create_on(config, &data, &none), SPIRE_CONFIG,
               "spire_trainer_create_on: data->size is 0; set it to sizeof(spire_data)");
  spire_train_options options = {.size = sizeof options, .data = &data};
  EXPECT_ERROR(spire_train(config, &options, NULL), SPIRE_CONFIG,
               "spire_train: options->data->size is 0; set it to sizeof(spire_data)");
  options.size = 0;
  EXPECT_ERROR(spire_train(config, &options, NULL), SPIRE_CONFIG, "sizeof(spire_train_options)");
  spire_column column = {0};
  spire_sample_spec spec = {.size = sizeof spec, .columns = &column, .column_count = 1};
  EXPECT_ERROR(spire_trainer_create(config, &spec, &none), SPIRE_CONFIG,
               "spire_trainer_create: spec->columns[0].size is 0; set it to sizeof(spire_column)");
  spec.size = 0;
  EXPECT_ERROR(spire_trainer_create(config, &spec, &none), SPIRE_CONFIG,
               "sizeof(spire_sample_spec)");
  EXPECT(none == NULL);
  spire_trainer_destroy(trainer);
  spire_config_destroy(config);
}
