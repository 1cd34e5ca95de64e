/* Trains a classifier from C, step by step: is a point inside the circle? */
#include <stdio.h>
#include <stdlib.h>

#include <spire/c.h>

static float random_number(void) {
  return 2.0f * (float)rand() / (float)RAND_MAX - 1.0f;
}

int main(void) {
  static float points[4000][2];
  static int32_t inside[4000];
  for (int i = 0; i < 4000; ++i) {
    float x = points[i][0] = random_number(), y = points[i][1] = random_number();
    inside[i] = x * x + y * y < 0.5f;
  }
  const int64_t point[] = {2};
  const spire_column columns[] = {{sizeof(spire_column), "features", SPIRE_F32, 1, point},
                                  {sizeof(spire_column), "labels", SPIRE_I32, 0, NULL}};
  const spire_sample_spec spec = {
      .size = sizeof spec, .columns = columns, .column_count = 2, .classes = 2};
  spire_config* config = NULL;
  spire_trainer* trainer = NULL;
  spire_status status = spire_config_create(
      "{model: {name: mlp, hidden: [32, 32]}, towers: 1, tower_threads: 1, "
      "batch_size: 100, optimizer: {lr: 0.3}}",
      NULL, 0, &config);
  if (status == SPIRE_OK) status = spire_trainer_create(config, &spec, &trainer);
  const int64_t batch_shape[] = {100, 2}, shape[] = {4000, 2}; /* labels: the first number alone */
  for (int step = 0; status == SPIRE_OK && step < 400; ++step) {
    int first = step % 40 * 100;
    const spire_array batch[] = {
        {sizeof(spire_array), "features", points[first], SPIRE_F32, 2, batch_shape, NULL},
        {sizeof(spire_array), "labels", inside + first, SPIRE_I32, 1, batch_shape, NULL}};
    status = spire_trainer_step(trainer, batch, 2, NULL, NULL);
  }
  spire_evaluation result = {.size = sizeof result};
  const spire_array all[] = {{sizeof(spire_array), "features", points, SPIRE_F32, 2, shape, NULL},
                             {sizeof(spire_array), "labels", inside, SPIRE_I32, 1, shape, NULL}};
  if (status == SPIRE_OK) status = spire_trainer_evaluate(trainer, all, 2, &result);
  if (status == SPIRE_OK)
    printf("accuracy %.3f\n", result.metric);
  else
    fprintf(stderr, "%s: %s\n", spire_status_name(status), spire_last_error());
  spire_trainer_destroy(trainer);
  spire_config_destroy(config);
  return status != SPIRE_OK ? (int)status : result.metric > 0.95 ? 0 : 1;
}
