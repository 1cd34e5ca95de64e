/* Spire in C99: train a config, or a model step by step. The C++ library is behind it.
 *
 * A function that can fail returns a spire_status; after a failure spire_last_error() returns the
 * message. Each thread has a message of its own, which stays valid until the thread's next failure;
 * the caller does not free it. No C++ exception leaves a function. The caller frees each object
 * with its *_destroy(), which accepts NULL; a function that fails to make one leaves the handle as
 * it was, so begin handles with NULL. Other arguments may be NULL only where a comment says
 * so. The library never exits the process, installs a signal handler or prints.
 *
 * A struct begins with its size, which the caller sets, also in one that the library fills:
 *   spire_step step = {.size = sizeof step};
 * Later versions of the library add members at the end, which are 0 for programs that do not know
 * them. SPIRE_CONFIG: the size is 0, or larger than the library's, or differs within an array. A
 * callback's struct has the library's size: a program for several versions compares it first.
 *
 * Structs and functions stay binary compatible as long as SPIRE_C_API_VERSION is the same. It is
 * part of the library's name, libspire_c.so.1.
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

SPIRE_API int spire_c_api_version(void);   /* SPIRE_C_API_VERSION of the library */
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

/* A list of this machine's devices and their present state: the CPU, then all GPUs, even those that
 * this process may not use. The strings of a spire_device live until the list is destroyed. */
typedef struct spire_devices spire_devices;

typedef struct spire_device {
  size_t size;     /* sizeof(spire_device) */
  const char* id;  /* in a config: "cpu", "cuda:1"; "": CUDA hides it from this process */
  int host_number; /* index in nvidia-smi; -1: a CPU, or unknown */
  const char* name;
  const char* uuid;
  const char* pci_bus_id;
  int64_t memory_total, memory_used, memory_free; /* bytes; -1: unknown */
  double utilization;                             /* 0..1; -1: unknown */
  const char* problem;                            /* why it cannot be used; "": it works */
} spire_device;

SPIRE_API spire_status spire_devices_create(spire_devices** devices);
SPIRE_API spire_status spire_devices_count(const spire_devices* devices, size_t* count);
SPIRE_API spire_status spire_devices_get(const spire_devices* devices, size_t index,
                                         spire_device* device);
SPIRE_API void spire_devices_destroy(spire_devices* devices);

/* A parsed config. It never changes, so any threads may use it at once. Calls copy what they keep
 * of it: it may be destroyed after any call. */
typedef struct spire_config spire_config;

/* yaml: the text of a config file. words: `count` overrides "key.path=value", which win over
 * `yaml`; may be NULL if count is 0. The message of SPIRE_CONFIG lists all problems. */
SPIRE_API spire_status spire_config_create(const char* yaml, const char* const* words, size_t count,
                                           spire_config** config);
/* The same for `file_count` files; a later file's value of a key wins. The message also lists files
 * that cannot be read. */
SPIRE_API spire_status spire_config_load(const char* const* files, size_t file_count,
                                         const char* const* words, size_t word_count,
                                         spire_config** config);
SPIRE_API void spire_config_destroy(spire_config* config);

/* A flag that ends runs early. spire_cancel_request() sets it, on any thread or in a signal
 * handler; nothing clears it. */
typedef struct spire_cancel spire_cancel;

SPIRE_API spire_status spire_cancel_create(spire_cancel** cancel);
SPIRE_API void spire_cancel_request(spire_cancel* cancel);
SPIRE_API void spire_cancel_destroy(spire_cancel* cancel);

/* A struct that does not set its dtype has SPIRE_F32. */
typedef enum spire_dtype { SPIRE_F32 = 0, SPIRE_F64 = 1, SPIRE_U8 = 2, SPIRE_I32 = 3 } spire_dtype;

#define SPIRE_MAX_RANK 6

/* An array of samples, read in place: `data` must stay valid and unchanged until the function that
 * takes the array returns, or as long as it says. */
typedef struct spire_array {
  size_t size;        /* sizeof(spire_array) */
  const char* column; /* "images", "features", "tokens", "labels", "targets", "values" */
  const void* data;
  spire_dtype dtype; /* of `data`; images of SPIRE_U8 are read as x / 255 */
  int rank;
  const int64_t*
      shape; /* images (N, H, W, C), features (N, F), values (N, K), tokens (N, T), labels (N) */
  const int64_t* strides; /* elements from one index of an axis to the next; NULL: dense */
} spire_array;

typedef struct spire_data {
  size_t size; /* sizeof(spire_data) */
  const spire_array* train;
  size_t train_arrays;
  const spire_array* test; /* NULL if test_arrays is 0: evaluations then read `train` */
  size_t test_arrays;
  int64_t classes; /* of labels, or the vocabulary's size; 0: the largest number + 1 */
} spire_data;

typedef struct spire_step {
  size_t size;     /* sizeof(spire_step) */
  int64_t step;    /* 1 after the first */
  int64_t samples; /* in the global batch; in spire_train(): seen so far */
  double epoch;    /* 2.5: middle of the third epoch; a trainer's step: 0 */
  double lr;
  double loss;       /* mean over the samples */
  double metric;     /* accuracy, perplexity, ...: spire_summary::metric_name of such a run */
  double grad_norm;  /* before optimizer.clip_norm; of an update(): as the program left them */
  double loss_scale; /* fp16; else 0 */
  int skipped;       /* a trainer's step: 1 if it changed nothing (fp16 overflow, or bad) */
} spire_step;

typedef struct spire_evaluation {
  size_t size; /* sizeof(spire_evaluation) */
  double loss;
  double metric;
  int64_t samples;
} spire_evaluation;

typedef struct spire_train_options {
  size_t size;            /* sizeof(spire_train_options) */
  const spire_data* data; /* NULL: the config names the data */
  /* Called on a thread of the engine, one call at a time; may be NULL. A callback that does not
   * return 0 ends the run after a checkpoint, as `cancel` does. */
  int (*on_step)(void* user, const spire_step* step);
  int (*on_evaluation)(void* user, const spire_evaluation* evaluation);
  void* user;
  spire_cancel* cancel; /* NULL: none. A callback that ends the run sets it, too */
  int overwrite;        /* not 0: delete what an earlier run left in the output folder */
  const char* resume;   /* "auto", "latest", "best", a run's folder or a file; NULL: a new run */
} spire_train_options;

typedef struct spire_summary {
  size_t size;   /* sizeof(spire_summary) */
  int exit_code; /* 0, or SPIRE_INTERRUPTED */
  int64_t steps;
  double epochs;
  double train_loss;
  int evaluated;             /* 0: no evaluation; loss, metric and best are 0 */
  double loss, metric, best; /* of the last evaluation; best: best of all (best.metric) */
  const char* metric_name;   /* "accuracy" */
  double samples_per_second, seconds;
  const char* parameter_hash; /* 16 hex digits */
  const char* output;         /* the run's folder */
  const char* checkpoint;     /* the last one; "": none */
  const char* stopped_by;     /* "signal" (`cancel`), "max_time", "early_stop"; "": the end */
} spire_summary;

typedef struct spire_run spire_run;

/* Trains as the config says; returns when the run has ended. options: NULL stands for all members
 * 0. run: gets the result, which the caller destroys; may be NULL. */
SPIRE_API spire_status spire_train(const spire_config* config, const spire_train_options* options,
                                   spire_run** run);
/* The summary's strings live until the run is destroyed. */
SPIRE_API spire_status spire_run_summary(const spire_run* run, spire_summary* summary);
SPIRE_API void spire_run_destroy(spire_run* run);

/* A model that is trained step by step, on batches of the caller or on datasets. One thread at a
 * time may use a trainer; several trainers may work at once. A bad step (guard.*) changes nothing:
 * it returns SPIRE_DIVERGED, or sets spire_step::skipped if guard.on_bad_step is skip. SPIRE_CONFIG
 * and SPIRE_DATA leave the trainer unchanged, too. After any other error of a step the trainer's
 * state is lost, and functions that need it fail. */
typedef struct spire_trainer spire_trainer;

/* Creating a trainer then takes longer: the model is compiled for each number of samples. */
#define SPIRE_ANY_BATCH (-1)

typedef struct spire_column {
  size_t size;          /* sizeof(spire_column) */
  const char* name;     /* as spire_array::column */
  spire_dtype dtype;    /* SPIRE_F32 for images, features and values; else SPIRE_I32 */
  int rank;             /* of one sample: 3 for images, 0 for labels */
  const int64_t* shape; /* (H, W, C), (F), (T); NULL if rank is 0 */
} spire_column;

typedef struct spire_sample_spec {
  size_t size;                 /* sizeof(spire_sample_spec) */
  const spire_column* columns; /* the first one is the model's input */
  size_t column_count;
  int64_t classes; /* of labels, or the vocabulary's size; 0 for values */
  /* Of the data that the batches are from; 0: all batches are full. train_samples may be
   * SPIRE_ANY_BATCH: any number of samples up to the global batch. */
  int64_t train_samples, test_samples;
} spire_sample_spec;

/* For batches of the caller: spire_trainer_step() and spire_trainer_evaluate(). */
SPIRE_API spire_status spire_trainer_create(const spire_config* config,
                                            const spire_sample_spec* spec, spire_trainer** trainer);
/* For datasets: spire_trainer_fit(). data: its arrays must stay valid and unchanged until the
 * trainer is destroyed; NULL: the config names the data. */
SPIRE_API spire_status spire_trainer_create_on(const spire_config* config, const spire_data* data,
                                               spire_trainer** trainer);
SPIRE_API void spire_trainer_destroy(spire_trainer* trainer);

/* samples: of a full step, the global batch. */
SPIRE_API spire_status spire_trainer_batch(const spire_trainer* trainer, int64_t* samples);
SPIRE_API spire_status spire_trainer_steps_done(const spire_trainer* trainer, int64_t* steps);

typedef struct spire_memory {
  size_t size;        /* sizeof(spire_memory) */
  const char* device; /* "cuda:1"; lives as long as the trainer */
  /* Bytes for all steps, now, and the sum of each kind's largest value so far; without sessions. */
  int64_t planned, in_use, peak;
} spire_memory;

/* The number of devices of this process, and the memory of the device at `index`. */
SPIRE_API spire_status spire_trainer_devices(const spire_trainer* trainer, size_t* count);
SPIRE_API spire_status spire_trainer_memory(const spire_trainer* trainer, size_t index,
                                            spire_memory* memory);
/* Runs a step on zeros, up to its update, and an evaluation, and forgets both: the first step finds
 * all else warm. */
SPIRE_API spire_status spire_trainer_warm_up(spire_trainer* trainer);
/* Changes the config's optimizer for later steps, and keeps its other keys: `count` words such as
 * "optimizer.lr=0.01" and "optimizer.lr_factors={\"dense1.*\": 0}"; the factor 0 freezes, {} thaws.
 */
SPIRE_API spire_status spire_trainer_set_optimizer(spire_trainer* trainer, const char* const* words,
                                                   size_t count);
/* Frees batches and threads that calls keep for later calls, and returns unused heap memory of the
 * process to the system. spire_trainer_destroy() frees the rest. */
SPIRE_API spire_status spire_trainer_release_memory(spire_trainer* trainer);

typedef struct spire_fit_options {
  size_t size;   /* sizeof(spire_fit_options) */
  int64_t steps; /* how many; 0: up to the end of the config's run */
  /* Called on the caller's thread; may be NULL. They may call any function of the trainer except
   * spire_trainer_fit(). A callback that does not return 0 ends the call after the present step. */
  int (*on_step)(void* user, const spire_step* step);
  int (*on_epoch)(void* user, int64_t epoch, const spire_evaluation* evaluation);
  void* user;
  const spire_cancel* cancel; /* NULL: none */
} spire_fit_options;

/* Trains on the trainer's datasets from the present step on, with the bits of spire_train(), and
 * evaluates after each epoch and at the end. options: NULL stands for all members 0. evaluation:
 * gets the last one, with samples 0 if there was none; may be NULL. */
SPIRE_API spire_status spire_trainer_fit(spire_trainer* trainer, const spire_fit_options* options,
                                         spire_evaluation* evaluation);
/* Evaluates the present weights on the trainer's test data. */
SPIRE_API spire_status spire_trainer_evaluate_test_data(spire_trainer* trainer,
                                                        spire_evaluation* evaluation);

/* Train or evaluate on N samples: `count` arrays (N, row) of any strides, one per column of the
 * spec in its order; a trainer on datasets has features, images or tokens first, then labels,
 * targets or values. Numbers of other dtypes are converted, but fractions not to whole numbers.
 * SPIRE_CONFIG: a name, shape or dtype does not fit. lr: NULL: the schedule's rate. step,
 * evaluation: may be NULL. */
SPIRE_API spire_status spire_trainer_step(spire_trainer* trainer, const spire_array* arrays,
                                          size_t count, const double* lr, spire_step* step);
SPIRE_API spire_status spire_trainer_evaluate(spire_trainer* trainer, const spire_array* arrays,
                                              size_t count, spire_evaluation* evaluation);

/* A step in parts, for programs that read or change gradients. spire_trainer_compute_gradients()
 * runs forward and backward on a batch, as spire_trainer_step() takes it; called again, it adds a
 * batch, and all numbers are means over the samples of all of them. spire_trainer_gradient() gives
 * the averaged gradient of a trained weight (`elements` numbers, as spire_weight has them) in
 * memory that may be read and written until the step ends: spire_trainer_update() updates the
 * weights with it, spire_trainer_reject() leaves everything as it was. Until then functions that
 * train, evaluate, predict, load, save or write a weight fail. elements, lr, step: may be NULL. */
SPIRE_API spire_status spire_trainer_compute_gradients(spire_trainer* trainer,
                                                       const spire_array* arrays, size_t count,
                                                       spire_step* step);
SPIRE_API spire_status spire_trainer_gradient(spire_trainer* trainer, const char* name,
                                              float** values, size_t* elements);
SPIRE_API spire_status spire_trainer_update(spire_trainer* trainer, const double* lr,
                                            spire_step* step);
SPIRE_API spire_status spire_trainer_reject(spire_trainer* trainer);

/* numbers: fp32 outputs of one sample. rows: the first column's array, as in spire_trainer_step().
 * outputs: memory for `room` floats, of which N * numbers are written. */
SPIRE_API spire_status spire_trainer_outputs(const spire_trainer* trainer, int64_t* numbers);
SPIRE_API spire_status spire_trainer_predict(spire_trainer* trainer, const spire_array* rows,
                                             float* outputs, size_t room);

typedef struct spire_weight {
  size_t size;      /* sizeof(spire_weight) */
  const char* name; /* "conv1.weight"; lives as long as the trainer */
  int rank;
  int64_t shape[SPIRE_MAX_RANK]; /* in PyTorch's order */
  int64_t elements;
  int trained; /* 0: frozen, or a running statistic */
} spire_weight;

/* The number of weights and running statistics, which are sorted by name, and the one at `index`.
 * To read or write one, `elements` must be spire_weight::elements; values are fp32, row-major. */
SPIRE_API spire_status spire_trainer_weights(const spire_trainer* trainer, size_t* count);
SPIRE_API spire_status spire_trainer_weight(const spire_trainer* trainer, size_t index,
                                            spire_weight* weight);
SPIRE_API spire_status spire_trainer_read_weight(spire_trainer* trainer, const char* name,
                                                 float* values, size_t elements);
SPIRE_API spire_status spire_trainer_write_weight(spire_trainer* trainer, const char* name,
                                                  const float* values, size_t elements);
/* hash: of all weights and running statistics, the number in spire_summary::parameter_hash. */
SPIRE_API spire_status spire_trainer_hash(spire_trainer* trainer, uint64_t* hash);

/* Write and read a checkpoint with the optimizer's state, which `trainer` reads as well. */
SPIRE_API spire_status spire_trainer_save(spire_trainer* trainer, const char* file);
SPIRE_API spire_status spire_trainer_load(spire_trainer* trainer, const char* file);

/* The weights and running statistics alone: as safetensors, and of those or of a checkpoint of any
 * batch and optimizer. */
SPIRE_API spire_status spire_trainer_save_weights(spire_trainer* trainer, const char* file);
SPIRE_API spire_status spire_trainer_load_weights(spire_trainer* trainer, const char* file);

/* The bytes of a checkpoint. */
typedef struct spire_bytes spire_bytes;

SPIRE_API spire_status spire_trainer_save_bytes(spire_trainer* trainer, spire_bytes** bytes);
SPIRE_API spire_status spire_trainer_load_bytes(spire_trainer* trainer, const void* data,
                                                size_t size);
SPIRE_API const void* spire_bytes_data(const spire_bytes* bytes); /* until they are destroyed */
SPIRE_API size_t spire_bytes_size(const spire_bytes* bytes);
SPIRE_API void spire_bytes_destroy(spire_bytes* bytes);

/* A model with weights of its own, whose outputs are computed by the threads that call, any number
 * at once, also while the trainer trains. */
typedef struct spire_session spire_session;

/* From a trainer's present weights, or from a run's folder (its best checkpoint) or a checkpoint
 * file. rows: computed at a time, at least 1. */
SPIRE_API spire_status spire_session_create(spire_trainer* trainer, int64_t rows,
                                            spire_session** session);
SPIRE_API spire_status spire_session_open(const char* checkpoint, int64_t rows,
                                          spire_session** session);
SPIRE_API void spire_session_destroy(spire_session* session);
/* Copies the trainer's present weights, on the thread that uses the trainer. Calls of
 * spire_session_predict() go on meanwhile. */
SPIRE_API spire_status spire_session_update(spire_session* session, spire_trainer* trainer);
/* columns: how many of the model's columns its outputs depend on. numbers: outputs of a row. Both
 * may be NULL. */
SPIRE_API spire_status spire_session_shape(const spire_session* session, size_t* columns,
                                           int64_t* numbers);
/* arrays: `count` columns of equally many rows. outputs: memory for `room` floats; rows * numbers
 * are written. */
SPIRE_API spire_status spire_session_predict(const spire_session* session,
                                             const spire_array* arrays, size_t count,
                                             float* outputs, size_t room);

#ifdef __cplusplus
}
#endif
#endif
