// All public headers of Spire.
//
// Start reading at train.h: train() runs a config from its first step to its summary. Errors are
// spire::Error. The library never exits, installs a signal handler or changes the environment.
#pragma once
#include <spire/error.h>         // the exception type, and the categories of errors
#include <spire/failure.h>       // the failure that ends a run early
#include <spire/launch.h>        // rank and size of this process, from its launcher
#include <spire/layer_config.h>  // layers listed under model.layers
#include <spire/layer_row.h>     // a row of the table of layers
#include <spire/load_config.h>   // a config from YAML files and key=value words
#include <spire/metric.h>        // accuracy, perplexity and the like
#include <spire/observer.h>      // events of a run
#include <spire/phase.h>         // phases of a run's threads
#include <spire/plan_report.h>   // memory and layers of a run, without training
#include <spire/rank_info.h>     // identity of a rank
#include <spire/run_config.h>    // the config of a run as plain structs
#include <spire/train.h>         // train and evaluate
#include <spire/world.h>         // the connected processes of a run
