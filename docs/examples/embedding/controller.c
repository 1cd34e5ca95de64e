/* From C99: gradients of two batches make a step, and a session answers meanwhile. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <spire/c.h>

static float random_number(void) {
  return 2.0f * (float)rand() / (float)RAND_MAX - 1.0f;
}

static void check(spire_status status) {
  if (status == SPIRE_OK) return;
  fprintf(stderr, "%s: %s\n", spire_status_name(status), spire_last_error());
  exit(status);
}

int main(void) {
  static struct {
    double x[2]; /* numbers of other types are converted */
    float y;
  } samples[1024];
  for (int i = 0; i < 1024; ++i) {
    double* x = samples[i].x;
    x[0] = random_number(), x[1] = random_number();
    samples[i].y = (float)(x[0] * x[1] + x[0]);
  }
  const int64_t shape[] = {2}, one[] = {1};
  const spire_column columns[] = {{sizeof(spire_column), "features", SPIRE_F32, 1, shape},
                                  {sizeof(spire_column), "values", SPIRE_F32, 1, one}};
  const spire_sample_spec spec = {
      .size = sizeof spec, .columns = columns, .column_count = 2, .train_samples = SPIRE_ANY_BATCH};
  spire_config* config = NULL;
  spire_trainer* trainer = NULL;
  spire_session* session = NULL;
  check(
      spire_config_create("{model: {name: mlp, hidden: [32]}, devices: cpu, towers: 1, "
                          "tower_threads: 1, batch_size: 64, optimizer: {name: adam, lr: 0.01}, "
                          "schedule: {name: constant}}",
                          NULL, 0, &config));
  check(spire_trainer_create(config, &spec, &trainer));
  check(spire_session_create(trainer, 1, &session));

  const int64_t row = sizeof samples[0] / sizeof(double),
                number = sizeof samples[0] / sizeof(float);
  const int64_t x_strides[] = {row, 1}, y_strides[] = {number, 1};
  spire_step step = {.size = sizeof step};
  for (int first = 0, round = 0; round < 1500; ++round, first = (first + 64) % 960) {
    for (int half = 0; half < 2; ++half) { /* of 40 and 24 samples */
      int64_t rows = half ? 24 : 40, begin = first + 40 * half;
      const int64_t x_shape[] = {rows, 2}, y_shape[] = {rows, 1};
      const size_t size = sizeof(spire_array);
      const spire_array batch[] = {
          {size, "features", samples[begin].x, SPIRE_F64, 2, x_shape, x_strides},
          {size, "values", &samples[begin].y, SPIRE_F32, 2, y_shape, y_strides}};
      check(spire_trainer_compute_gradients(trainer, batch, 2, &step));
    }
    check(spire_trainer_update(trainer, NULL, &step));
  }
  check(spire_session_update(session, trainer));
  const float at[] = {0.5f, -0.5f};
  const int64_t at_shape[] = {1, 2};
  const spire_array question = {sizeof question, "features", at, SPIRE_F32, 2, at_shape, NULL};
  float answer = 0;
  check(spire_session_predict(session, &question, 1, &answer, 1));
  printf("loss %.5f of %d samples; %.3f at (0.5, -0.5)\n", step.loss, (int)step.samples, answer);
  spire_session_destroy(session);
  spire_trainer_destroy(trainer);
  spire_config_destroy(config);
  return fabsf(answer - 0.25f) < 0.1f && step.samples == 64 ? 0 : 1;
}
