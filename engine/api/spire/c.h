/* Spire in C99: train a config, or a model step by step. The C++ library is behind it.
 *
 * A function that can fail returns a spire_status; spire_last_error() then has the message, of the
 * calling thread, until its next call fails: nothing is to be freed, and threads do not mix. No
 * C++ exception leaves a function. What a function creates, the function *_destroy() frees; NULL is
 * allowed there, and elsewhere where it is said. The library never exits, installs a signal
 * handler or prints.
 *
 * Structs and functions keep their form as long as SPIRE_C_API_VERSION stays.
 */
#ifndef SPIRE_C_H
#define SPIRE_C_H

#include <stddef.h>
#include <stdint.h>

#include <spire/export.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPIRE_C_API_VERSION 1

SPIRE_API int spire_c_api_version(void);   /* of the library: compare with the macro */
SPIRE_API const char* spire_version(void); /* "0.1.0" */

/* The values are the exit codes of the program `trainer`. */
typedef enum spire_status {
  SPIRE_OK = 0,
  SPIRE_UNEXPECTED = 1,
  SPIRE_CONFIG = 2, /* the config, or wrong arguments */
  SPIRE_DEVICE = 3, /* device or system */
  SPIRE_DATA = 4,
  SPIRE_CHECKPOINT = 5,
  SPIRE_OUT_OF_MEMORY = 6,
  SPIRE_DIVERGED = 7,    /* the loss or the gradients are not finite */
  SPIRE_COLLECTIVE = 8,  /* a process or GPU was lost */
  SPIRE_INTERRUPTED = 75 /* only as spire_summary::exit_code: ended early, checkpoint saved */
} spire_status;

SPIRE_API const char* spire_last_error(void);                 /* "" before the first error */
SPIRE_API const char* spire_status_name(spire_status status); /* "config" */

/* The devices of this machine as they are now: the CPU, then all GPUs, also those that this process
 * may not use. Strings live as long as the list. */
typedef struct spire_devices spire_devices;

typedef struct spire_device {
  const char* id;  /* "cpu", "cuda:1"; "": CUDA does not show it to this process */
  int host_number; /* nvidia-smi's; -1: a CPU, or unknown */
  const char* name;
  const char* uuid;
  const char* pci_bus_id;
  int64_t memory_total, memory_used, memory_free; /* bytes; -1: unknown */
  double utilization;                             /* 0..1; -1: unknown */
  const char* problem;                            /* why it does not work; "": it does */
} spire_device;

SPIRE_API spire_status spire_devices_create(spire_devices** devices);
SPIRE_API spire_status spire_devices_count(const spire_devices* devices, size_t* count);
SPIRE_API spire_status spire_devices_get(const spire_devices* devices, size_t index,
                                         spire_device* device);
SPIRE_API void spire_devices_destroy(spire_devices* devices);

/* Config. One thread at a time changes it; any number may use it. */
typedef struct spire_config spire_config;

/* yaml: the text of a config file. words: `count` times "key.path=value", which win; NULL if count
 * is 0. SPIRE_CONFIG lists all problems. */
SPIRE_API spire_status spire_config_create(const char* yaml, const char* const* words, size_t count,
                                           spire_config** config);
/* Reads `file_count` files; a later one's value of a key wins. A file that cannot be read is one of
 * the problems. */
SPIRE_API spire_status spire_config_load(const char* const* files, size_t file_count,
                                         const char* const* words, size_t word_count,
                                         spire_config** config);
SPIRE_API void spire_config_destroy(spire_config* config);

/* Ends runs early. spire_cancel_request() may be called on any thread and in a signal handler. */
typedef struct spire_cancel spire_cancel;

SPIRE_API spire_status spire_cancel_create(spire_cancel** cancel);
SPIRE_API void spire_cancel_request(spire_cancel* cancel);
SPIRE_API void spire_cancel_destroy(spire_cancel* cancel);

typedef enum spire_dtype { SPIRE_F32 = 0, SPIRE_F64 = 1, SPIRE_U8 = 2, SPIRE_I32 = 3 } spire_dtype;

#define SPIRE_MAX_RANK 6

/* An array of samples, read in place: it stays as it is until the run has ended. */
typedef struct spire_array {
  const char* column; /* "images", "features", "tokens", "labels", "targets", "values" */
  const void* data;
  spire_dtype dtype; /* images of SPIRE_U8 stand for x / 255 */
  int rank;
  const int64_t* shape;   /* (N, H, W, C), (N, F), (N, T), (N) */
  const int64_t* strides; /* elements from one index of an axis to the next; NULL: dense */
} spire_array;

typedef struct spire_data {
  const spire_array* train;
  size_t train_arrays;
  const spire_array* test; /* NULL if test_arrays is 0: evaluations then read `train` */
  size_t test_arrays;
  int64_t classes; /* of labels, or tokens of the vocabulary; 0: the largest label + 1 */
} spire_data;

typedef struct spire_step {
  int64_t step;    /* 1 after the first */
  int64_t samples; /* of the global batch; in a run: seen so far */
  double epoch;    /* 2.5 is the middle of the third; 0 in a trainer's step */
  double lr;
  double loss;       /* mean over the samples */
  double metric;     /* accuracy, perplexity, ...: spire_metric_name of the summary */
  double grad_norm;  /* before clipping */
  double loss_scale; /* fp16; else 0 */
  int skipped;       /* a trainer's step: fp16 overflowed, or it was bad; nothing changed */
} spire_step;

typedef struct spire_evaluation {
  double loss;
  double metric;
  int64_t samples;
} spire_evaluation;

typedef struct spire_train_options {
  const spire_data* data; /* NULL: what the config names */
  /* Called on a thread of the engine, one call at a time; NULL: not called. Another value than 0
   * ends the run after a checkpoint, as `cancel` does. */
  int (*on_step)(void* user, const spire_step* step);
  int (*on_evaluation)(void* user, const spire_evaluation* evaluation);
  void* user;
  spire_cancel* cancel; /* NULL: none. An `on_...` that ends the run requests it, too */
  int overwrite;        /* not 0: delete what an earlier run left in the output folder */
  const char* resume;   /* "auto", "latest", "best", a run's folder, a checkpoint; NULL: new */
} spire_train_options;

typedef struct spire_summary {
  int exit_code; /* 0, or SPIRE_INTERRUPTED */
  int64_t steps;
  double epochs;
  double train_loss;
  int evaluated;             /* 0: the four below are not set */
  double loss, metric, best; /* of the last evaluation; best: of all, by best.metric */
  const char* metric_name;   /* "accuracy" */
  double samples_per_second, seconds;
  const char* parameter_hash; /* 16 hex digits */
  const char* output;         /* the run's folder */
  const char* checkpoint;     /* the last one; "": none */
  const char* stopped_by;     /* "": it reached its end */
} spire_summary;

typedef struct spire_run spire_run;

/* Trains as the config says. options: NULL: all are 0. run: NULL: not wanted. */
SPIRE_API spire_status spire_train(const spire_config* config, const spire_train_options* options,
                                   spire_run** run);
/* The strings live as long as the run. */
SPIRE_API spire_status spire_run_summary(const spire_run* run, spire_summary* summary);
SPIRE_API void spire_run_destroy(spire_run* run);

/* A model that is trained step by step on batches of the caller. One thread at a time uses it;
 * several trainers may work at once. A step that is bad, as guard.* says, changes nothing: it is
 * SPIRE_DIVERGED, or skipped. SPIRE_CONFIG and SPIRE_DATA come before anything changes, too. After
 * other errors of a step there is no valid state, and all functions that need one fail. */
typedef struct spire_trainer spire_trainer;

typedef struct spire_column {
  const char* name;     /* as spire_array::column */
  spire_dtype dtype;    /* SPIRE_F32 for images, features and values; else SPIRE_I32 */
  int rank;             /* of one sample: 3 for images, 0 for labels */
  const int64_t* shape; /* (H, W, C), (F), (T); NULL if rank is 0 */
} spire_column;

typedef struct spire_sample_spec {
  const spire_column* columns; /* the first one is the model's input */
  size_t column_count;
  int64_t classes; /* tokens of the vocabulary; 0 for values */
  int64_t train_samples,
      test_samples; /* of the data that batches are taken from; 0: all are full */
} spire_sample_spec;

SPIRE_API spire_status spire_trainer_create(const spire_config* config,
                                            const spire_sample_spec* spec, spire_trainer** trainer);
/* For spire_trainer_fit(). data: NULL: what the config names; else its arrays stay as they are
 * until the trainer is destroyed. */
SPIRE_API spire_status spire_trainer_create_on(const spire_config* config, const spire_data* data,
                                               spire_trainer** trainer);
SPIRE_API void spire_trainer_destroy(spire_trainer* trainer);

SPIRE_API spire_status spire_trainer_batch(const spire_trainer* trainer, int64_t* samples);
SPIRE_API spire_status spire_trainer_steps_done(const spire_trainer* trainer, int64_t* steps);

typedef struct spire_memory {
  const char* device;   /* "cuda:1"; lives as long as the trainer */
  int64_t in_use, peak; /* bytes: now, and at most so far */
} spire_memory;

/* Of each device of this process. */
SPIRE_API spire_status spire_trainer_devices(const spire_trainer* trainer, size_t* count);
SPIRE_API spire_status spire_trainer_memory(const spire_trainer* trainer, size_t index,
                                            spire_memory* memory);
/* Gives back what earlier calls have left for later ones, and freed memory of the C library's heap.
 * spire_trainer_destroy() frees the rest. */
SPIRE_API spire_status spire_trainer_release_memory(spire_trainer* trainer);

typedef struct spire_fit_options {
  int64_t steps; /* how many; 0: up to the end of the config's run */
  /* Called on the caller's thread; NULL: not called. They may use the trainer, but for
   * spire_trainer_fit(). Another value than 0 ends after the present step. */
  int (*on_step)(void* user, const spire_step* step);
  int (*on_epoch)(void* user, int64_t epoch, const spire_evaluation* evaluation);
  void* user;
  const spire_cancel* cancel; /* NULL: none */
} spire_fit_options;

/* Trains on the trainer's datasets from the present step on, with the bits of spire_train(), and
 * evaluates after each epoch and at the end. options: NULL: all are 0. evaluation: the last one,
 * of 0 samples if there was none; NULL: not wanted. */
SPIRE_API spire_status spire_trainer_fit(spire_trainer* trainer, const spire_fit_options* options,
                                         spire_evaluation* evaluation);
/* On the trainer's test data. */
SPIRE_API spire_status spire_trainer_evaluate_test_data(spire_trainer* trainer,
                                                        spire_evaluation* evaluation);

/* columns: a pointer for each column of the spec (of a dataset: features, images or tokens before
 * labels, targets and values), to (count, row) dense values of its dtype.
 * lr: NULL: the schedule's. step, evaluation: NULL: not wanted. */
SPIRE_API spire_status spire_trainer_step(spire_trainer* trainer, const void* const* columns,
                                          int64_t count, const double* lr, spire_step* step);
SPIRE_API spire_status spire_trainer_evaluate(spire_trainer* trainer, const void* const* columns,
                                              int64_t count, spire_evaluation* evaluation);
/* The same for arrays, `count` of them in the order of the columns, whose names, dtypes and shapes
 * (N, row) are compared with the columns in each call: SPIRE_CONFIG for others. They are dense.
 * Functions that take pointers alone can only believe them. */
SPIRE_API spire_status spire_trainer_step_arrays(spire_trainer* trainer, const spire_array* arrays,
                                                 size_t count, const double* lr, spire_step* step);
SPIRE_API spire_status spire_trainer_evaluate_arrays(spire_trainer* trainer,
                                                     const spire_array* arrays, size_t count,
                                                     spire_evaluation* evaluation);

/* outputs: room for `room` >= count * spire_trainer_outputs() numbers. */
SPIRE_API spire_status spire_trainer_outputs(const spire_trainer* trainer, int64_t* numbers);
SPIRE_API spire_status spire_trainer_predict(spire_trainer* trainer, const void* rows,
                                             int64_t count, float* outputs, size_t room);
SPIRE_API spire_status spire_trainer_predict_array(spire_trainer* trainer, const spire_array* rows,
                                                   float* outputs, size_t room);

typedef struct spire_weight {
  const char* name; /* "conv1.weight"; lives as long as the trainer */
  int rank;
  int64_t shape[SPIRE_MAX_RANK]; /* in PyTorch's order */
  int64_t elements;
  int trained; /* 0: frozen, or a running statistic */
} spire_weight;

SPIRE_API spire_status spire_trainer_weights(const spire_trainer* trainer, size_t* count);
SPIRE_API spire_status spire_trainer_weight(const spire_trainer* trainer, size_t index,
                                            spire_weight* weight);
SPIRE_API spire_status spire_trainer_read_weight(spire_trainer* trainer, const char* name,
                                                 float* values, size_t elements);
SPIRE_API spire_status spire_trainer_write_weight(spire_trainer* trainer, const char* name,
                                                  const float* values, size_t elements);
SPIRE_API spire_status spire_trainer_hash(spire_trainer* trainer, uint64_t* hash);

/* A checkpoint, with the optimizer's state. */
SPIRE_API spire_status spire_trainer_save(spire_trainer* trainer, const char* file);
SPIRE_API spire_status spire_trainer_load(spire_trainer* trainer, const char* file);

#ifdef __cplusplus
}
#endif
#endif
