#include "tools/commands.h"

#include <algorithm>

#include "engine/base/fail.h"

namespace spire {

// In the order of the general help.
const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"train", "train a model (the default)", add_train_options, run_train},
      {"init", "write a config for the data in a file or folder", add_init_options, run_init},
      {"models", "list the models with their keys and sizes", [](CLI::App&, ParsedWords&) {},
       run_models},
      {"lr-find", "find a learning rate by a range test", add_lr_find_options, run_lr_find},
      {"eval", "evaluate a checkpoint on the test data, or on the validation data",
       add_eval_options, run_eval},
      {"predict", "predict with a trained model: classes, values, images or text",
       add_predict_options, run_predict},
      {"export", "write a trained model for other programs: ONNX, safetensors, npz",
       add_export_options, run_export},
      {"plan", "print the memory a run needs, without running", add_plan_options, run_plan},
      {"dataset convert", "convert a dataset to an HDF5 file, or text to token shards",
       add_convert_options, run_dataset_convert},
      {"dataset inspect", "describe a dataset: columns, classes, files", add_inspect_options,
       run_dataset_inspect},
      {"dataset verify", "read every row once, and compare checksums", add_verify_options,
       run_dataset_verify},
      {"bench", "measure how a model's speed grows with devices", add_bench_options, run_bench},
      {"bench-worker", "", add_bench_worker_options, run_bench_worker},
      {"sweep", "train at each point of a grid over config keys, several runs at a time",
       add_sweep_options, run_sweep},
      {"audit", "check the chain of a run's steps, and replay some of them", add_audit_options,
       run_audit},
      {"compare", "say where two runs differ; --bisect: by step and tensor", add_compare_options,
       run_compare},
      {"report", "make a page of a run, or of several over each other", add_report_options,
       run_report},
      {"devices",
       "list this machine's devices and their memory; --probe: try its GPUs; --watch: live",
       add_devices_options, run_devices},
      {"doctor", "check what of this machine helps, hinders or breaks runs, with remedies",
       add_doctor_options, run_doctor},
      {"doctor-peers", "", add_doctor_peers_options, run_doctor_peers},
      {"version", "print the version; --verbose: also of the libraries it uses",
       add_version_options, run_version},
  };
  return table;
}

const Command& find_command(std::string_view name) {
  auto found = std::ranges::find(commands(), name, &Command::name);
  require(found != commands().end(), "there is no subcommand '{}'", name);
  return *found;
}

}  // namespace spire
