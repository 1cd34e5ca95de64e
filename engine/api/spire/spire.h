// All public headers of Spire.
//
// Start reading at train.h: train() runs a config from its first step to its summary. Errors are
// spire::Error. The library never exits, installs a signal handler or changes the environment.
#pragma once
#include <spire/array_dataset.h>  // datasets in memory
#include <spire/checkpoint.h>     // checkpoints by the names that users give
#include <spire/config_text.h>    // configs as YAML, help, and values
#include <spire/dataset.h>        // the interface of datasets
#include <spire/device_id.h>      // names of devices
#include <spire/device_list.h>    // devices of this machine as they are now
#include <spire/device_words.h>   // words by which configs name devices
#include <spire/dtype.h>          // element types
#include <spire/error.h>          // the exception type, and the categories of errors
#include <spire/export.h>         // what the shared library exports
#include <spire/failure.h>        // the failure that ends a run early
#include <spire/files.h>          // texts that are read, results that appear whole
#include <spire/gpu_monitor.h>    // all GPUs of the host and their state
#include <spire/graph.h>          // models as graphs
#include <spire/hardware.h>       // cores and GPUs that a process may use
#include <spire/kernel.h>         // kernels of own ops
#include <spire/launch.h>         // rank and size of this process, from its launcher
#include <spire/layer_config.h>   // layers listed under model.layers
#include <spire/layer_options.h>  // values of options of layers
#include <spire/layer_row.h>      // a row of the table of layers
#include <spire/layers.h>         // layer functions
#include <spire/load_config.h>    // a config from YAML files and key=value words
#include <spire/metric.h>         // accuracy, perplexity and the like
#include <spire/model.h>          // a model of the program
#include <spire/observer.h>       // events of a run
#include <spire/observers.h>      // trainer's console, files and pages
#include <spire/op.h>             // ops
#include <spire/op_checks.h>      // checks of an op's inputs
#include <spire/packing.h>        // forms in which kernels read parameters
#include <spire/phase.h>          // phases of a run's threads
#include <spire/plan_report.h>    // memory and layers of a run, without training
#include <spire/random_stream.h>  // counter-based random numbers
#include <spire/rank_info.h>      // identity of a rank
#include <spire/run_config.h>     // the config of a run as plain structs
#include <spire/run_folder.h>     // what the folder of a run holds
#include <spire/sample_spec.h>    // columns of samples
#include <spire/shape.h>          // shapes of tensors
#include <spire/start_ranks.h>    // processes of this host as one run
#include <spire/system.h>         // limits and reasons of the system
#include <spire/text.h>           // numbers, tables and words for people
#include <spire/train.h>          // train and evaluate
#include <spire/trainer.h>        // step by step
#include <spire/world.h>          // the connected processes of a run

// What the subcommands of trainer do:
#include <spire/commands/audit.h>           // checks and replays of the chain of a run
#include <spire/commands/bench.h>           // speed on growing numbers of devices
#include <spire/commands/check_machine.h>   // what of this machine helps or hinders runs
#include <spire/commands/compare.h>         // where two runs differ
#include <spire/commands/dataset_tools.h>   // conversion, description and checks of datasets
#include <spire/commands/draft_config.h>    // a config for data
#include <spire/commands/export_model.h>    // ONNX, safetensors, npz
#include <spire/commands/finding.h>         // what a check of the machine found
#include <spire/commands/gpu_estimate.h>    // the time of a step on a GPU, from its data sheet
#include <spire/commands/host_use.h>        // use of the host's cores and memory
#include <spire/commands/input_rows.h>      // inputs of a model: users' files, test data
#include <spire/commands/machine_report.h>  // devices and versions of their software
#include <spire/commands/model_table.h>     // the models, their keys and sizes
#include <spire/commands/peer_copies.h>     // copies between two GPUs, tried
#include <spire/commands/range_test.h>      // range test of the learning rate
#include <spire/commands/run_report.h>      // pages of runs
#include <spire/commands/sweep.h>           // a config at each point of a grid
#include <spire/commands/sweep_results.h>   // what came of a sweep's runs
#include <spire/commands/sweep_slots.h>     // where a sweep's runs train
#include <spire/commands/text_generator.h>  // text after a prompt
#include <spire/commands/trained_model.h>   // outputs of a trained model
