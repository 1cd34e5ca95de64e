// All public headers of Spire.
//
// Start reading at train.h: train() runs a config from its first step to its summary. Errors are
// spire::Error. The library never exits, installs a signal handler or changes the environment.
#pragma once
#include <spire/array_dataset.h>  // datasets in memory
#include <spire/dataset.h>        // the interface of datasets
#include <spire/device_id.h>      // names of devices
#include <spire/dtype.h>          // element types
#include <spire/error.h>          // the exception type, and the categories of errors
#include <spire/export.h>         // what the shared library exports
#include <spire/failure.h>        // the failure that ends a run early
#include <spire/graph.h>          // models as graphs
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
#include <spire/op.h>             // ops
#include <spire/phase.h>          // phases of a run's threads
#include <spire/plan_report.h>    // memory and layers of a run, without training
#include <spire/random_stream.h>  // counter-based random numbers
#include <spire/rank_info.h>      // identity of a rank
#include <spire/run_config.h>     // the config of a run as plain structs
#include <spire/sample_spec.h>    // columns of samples
#include <spire/shape.h>          // shapes of tensors
#include <spire/train.h>          // train and evaluate
#include <spire/trainer.h>        // step by step
#include <spire/world.h>          // the connected processes of a run
