#include "tools/commands.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spire/error.h>

#include "tools/bench/bench_options.h"
#include "tools/common_options.h"
#include "tools/doctor/doctor_options.h"

namespace spire {

namespace {

void add_train_options(CLI::App& app, ParsedWords& words) {
  Arguments& a = words.arguments;
  add_config_options(app, words);
  auto* check = app.add_flag("--check", a.check, "validate config, data and devices, then exit");
  app.add_flag("--deep", a.deep, "with --check: read every sample once, and name the broken ones")
      ->needs(check);
  app.add_option("--resume", a.resume,
                 "go on from a checkpoint: a run's directory (its newest), a file, best or latest "
                 "of the run in output; auto: the newest good one, if any. Without --config with "
                 "the config of that run")
      ->type_name("auto|RUN|FILE|best|latest");
  app.add_flag("--overwrite", a.overwrite, "delete what earlier runs left in the run directory");
  app.add_option("--dry-run", a.dry_run,
                 "train N steps, evaluate N batches at most and write nothing")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--serve", words.serve,
                 "show the run to browsers at this port of the machine (0: any), or at HOST:PORT; "
                 "the same as monitor.serve=PORT")
      ->type_name("PORT|HOST:PORT");
  app.add_option("--processes", a.processes, "start N processes here that train as one run")
      ->check(integer_between(1, 4096))
      ->type_name("N");
  app.add_option("--max-restarts", a.max_restarts,
                 "when a process dies or hangs, restart from the newest checkpoint, up to M times")
      ->check(integer_between(0, 1'000'000))
      ->type_name("M");
  add_timeline_options(app, a);
  add_log_options(app, a);
}

void add_eval_options(CLI::App& app, ParsedWords& words) {
  Arguments& a = words.arguments;
  add_config_options(app, words);
  app.add_option("--resume,--checkpoint", a.resume,
                 "what to evaluate: a run's directory (its best), a checkpoint file, or best or "
                 "latest of the run in output; the same as a word RUN; without either: the best of "
                 "the run in output. Without --config with the config of that run")
      ->type_name("RUN|FILE|best|latest");
  app.add_flag("--val", a.on_validation,
               "evaluate the validation data (data.val), not the test data");
  add_log_options(app, a);
}

// Options for language models.
void add_text_options(CLI::App& app, PredictArguments& p) {
  auto* prompt = app.add_option("--prompt", p.prompt,
                                "language models: the text to continue; several: --prompt A "
                                "--prompt B, which are answered as --prompts are");
  prompt->allow_extra_args(false)->type_name("TEXT");
  app.add_option(
         "--prompt-file", p.prompt_file,
         "language models: file with the text to continue, without its last newline; -: stdin")
      ->excludes(prompt)
      ->type_name("FILE");
  app.add_option("--prompts", p.prompts,
                 "language models: file of several texts to continue, one a line; *.jsonl: "
                 "{\"prompt\": \"text\"} a line. --batch of them are continued at once. A line of "
                 "JSON answers each, in their order")
      ->excludes(prompt)
      ->excludes("--prompt-file")
      ->type_name("FILE");
  app.add_flag(
      "--stream", p.stream,
      "language models: of several prompts, write lines of JSON with parts of the texts as "
      "they come");
  app.add_option("--tokens", p.tokens, "language models: tokens to generate")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--temperature", p.temperature,
                 "language models: temperature of sampling; 0: always the most likely token")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("X");
  app.add_option("--top-k", p.top_k,
                 "language models: sample from the K most likely tokens; 0: from all")
      ->check(integer_between(0, 1'000'000))
      ->type_name("K");
  app.add_option("--top-p", p.top_p,
                 "language models: sample from the fewest most likely tokens whose probabilities "
                 "reach P; 1: from all")
      ->type_name("P");
  app.add_option("--stop", p.stop,
                 "language models: end the text before this one; several: --stop A --stop B")
      ->allow_extra_args(false)
      ->type_name("TEXT");
  app.add_option("--unknown", p.unknown,
                 "language models: a character of the prompt that the vocabulary lacks stops the "
                 "command (the default), or is left out")
      ->check(CLI::IsMember({"stop", "skip"}))
      ->type_name("stop|skip");
}

void add_predict_options(CLI::App& app, ParsedWords& words) {
  Arguments& a = words.arguments;
  PredictArguments& p = a.predict;
  app.add_option("--seed", words.seed, "seed of generated text; the same as seed=N")
      ->type_name("N");
  app.add_option("--checkpoint", p.checkpoint,
                 "a run's directory (its best), a checkpoint file, or best or latest of the run in "
                 "output=DIR; without this option the first INPUT")
      ->type_name("RUN|FILE|best|latest");
  // Inputs and keys are both words; arguments.cpp tells them apart.
  app.add_option(
         "words", a.overrides,
         "the run, unless --checkpoint names it, and what to predict for: images (JPEG, PNG), "
         "folders of them, IDX, CSV, .npy, .npz or HDF5 "
         "files; "
         "without any: the run's test data. A word KEY.PATH=VALUE changes a config key, "
         "such as data.path of the test data; for a file whose name looks like that, write ./NAME")
      ->type_name("INPUT");
  app.add_option("--device", p.device, "where to compute: cpu, or a GPU such as cuda:0")
      ->type_name("DEVICE");
  app.add_option("--batch", p.batch,
                 "samples computed at a time (64), or texts written at once (8)")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--count", p.count, "predict only the first N samples; otherwise all")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--on-error", p.on_error,
                 "an input, or a row of one, that cannot be read stops the command (the default), "
                 "or is skipped")
      ->check(CLI::IsMember({"stop", "skip"}))
      ->type_name("stop|skip");
  app.add_option("--format", p.format, "format of class probabilities and values")
      ->check(CLI::IsMember({"csv", "json"}))
      ->type_name("csv|json");
  app.add_option("--to", p.to, "file to write; for images the folder, ./predictions by default")
      ->type_name("PATH");
  app.add_flag("--overwrite", a.overwrite, "replace files that are there and hold something");
  add_text_options(app, p);
  add_log_options(app, a);
}

// Help of the subcommands of `trainer dataset`, behind their options.
constexpr const char* data_footer =
    "The dataset is given as for train, by data.name, data.path and the other keys of "
    "data\n(trainer --help-config). docs/formats.md describes the files.\n";

void add_convert_options(CLI::App& app, ParsedWords& words) {
  Arguments& a = words.arguments;
  add_key_options(app, words);
  app.add_option("--to", a.dataset.to,
                 "hdf5: the file, *.h5 or *.hdf5, else the folder of data.h5; tokens: the folder")
      ->type_name("PATH");
  app.add_option("--format", a.dataset.format, "format to write; auto: tokens for text, else hdf5")
      ->check(CLI::IsMember({"auto", "hdf5", "tokens"}))
      ->type_name("hdf5|tokens");
  app.add_option("--order", a.dataset.order,
                 "hdf5: order of the training rows; auto: shuffled by the seed for image_folder, "
                 "else source")
      ->check(CLI::IsMember({"auto", "source", "shuffled"}))
      ->type_name("source|shuffled");
  app.add_option("--shard-tokens", a.dataset.shard_tokens, "most tokens in one shard")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--seed", words.seed, "seed of the order; the same as seed=N")->type_name("N");
  app.add_flag("--overwrite", a.overwrite,
               "replace an existing result, and start again if the source has changed");
  add_print_options(app, a);
  add_log_options(app, a);
  app.footer(std::string(data_footer) +
             "Images become bytes: those of image_folder the middle 7/8 of the shorter side, at\n"
             "data.image.size (224). Until it is whole the result is called PATH.partial; after\n"
             "Ctrl+C or a kill the same command goes on there and makes the same bytes.\n\n"
             "  trainer dataset convert data.name=image_folder data.path=imagenet data.workers=8 "
             "--to imagenet.h5\n"
             "  trainer dataset convert data.name=tokens data.tokens.text=[a.txt,b.txt] "
             "data.tokens.vocabulary=gpt2 --to shards\n");
}

void add_inspect_options(CLI::App& app, ParsedWords& words) {
  add_key_options(app, words);
  app.add_option("--format", words.arguments.dataset.format,
                 "a table for people, or one JSON object")
      ->check(CLI::IsMember({"auto", "table", "json"}))
      ->type_name("table|json");
  add_print_options(app, words.arguments);
  app.footer(data_footer);
}

void add_verify_options(CLI::App& app, ParsedWords& words) {
  add_key_options(app, words);
  add_print_options(app, words.arguments);
  add_log_options(app, words.arguments);
  app.footer(std::string(data_footer) +
             "Names the first 20 bad rows by file and place. Exit code: 0 if all rows are good, "
             "else 4.\n");
}

void add_plan_options(CLI::App& app, ParsedWords& words) {
  add_config_options(app, words);
  app.add_option("--gpu", words.arguments.gpu,
                 "instead, estimate the time of a tower's step on a GPU from operations and "
                 "bytes; the GPU need not be here: h100, a100, l4 or rtx4090")
      ->type_name("NAME");
}

void add_sweep_options(CLI::App& app, ParsedWords& words) {
  Arguments& a = words.arguments;
  add_key_options(app, words);
  app.add_option("--grid", a.sweep.grid, "YAML file with axes: optimizer.lr: [0.1, 0.05]")
      ->type_name("FILE");
  app.add_option("-j,--jobs", a.sweep.jobs,
                 "runs at a time; on CPUs each has its share of the cores (default: one run with "
                 "all of them), on GPUs one GPU (default: one run on each)")
      ->check(integer_between(1, 4096))
      ->type_name("N");
  add_list(app, "--devices", a.sweep.devices,
           "the devices, one for each run at a time: cuda:0,cuda:2 or 4xcpu")
      ->type_name("DEVICE,...");
  app.add_option("-o,--output", words.output,
                 "folder of the sweep; default: output of the config with _sweep behind it")
      ->type_name("DIR");
  app.add_option("--resume", a.resume,
                 "go on with the sweep in that folder; the whole command again does the same")
      ->type_name("DIR");
  app.add_option("--max-restarts", a.max_restarts, "of each run, as of trainer train")
      ->check(integer_between(0, 1'000'000))
      ->type_name("M");
  app.add_option("--seed", words.seed, "the same as seed=N; several: --seed 1,2,3")
      ->type_name("N,...");
  add_log_options(app, a);
  app.footer(
      "A key with several values, separated by commas, is an axis of the grid; each combination "
      "is\n"
      "a run of its own, in a folder of its own. [64,32] is one value, [64],[32] are two.\n"
      "Prints a table, the best first, and writes it as sweep.html, .json and .csv. Runs that "
      "fail\n"
      "are reported, and the others go on. After Ctrl+C, a kill or a power cut the same command\n"
      "goes on: runs that have ended stay, others resume from their checkpoints. Exit code 0: all\n"
      "runs are done or have diverged; 75: stopped; else that of the first run that failed.\n\n"
      "  trainer sweep --config run.yaml optimizer.lr=0.1,0.05,0.02 model.depth=8,20 --jobs 2\n"
      "  trainer sweep --config run.yaml --seed 1,2,3 --devices cuda:0,cuda:2 -o runs/seeds\n");
}

void add_audit_options(CLI::App& app, ParsedWords& words) {
  AuditArguments& a = words.arguments.audit;
  app.add_option("run", a.run, "directory of the run")->required()->type_name("RUN");
  auto* from =
      app.add_option("--from", a.from, "replay from here: the step of a checkpoint, 0, or a file");
  from->type_name("STEP|FILE");
  app.add_option("--random", a.random,
                 "replay M segments between kept checkpoints, chosen at random")
      ->check(positive_integer)
      ->excludes(from)
      ->type_name("M");
  app.add_option("--steps", a.steps, "replay at most N steps (of each segment)")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--choice", a.seed, "seed of that choice; default: by chance, and printed")
      ->type_name("N");
  app.add_option("--set", words.set, "a config key for the replays, such as data.path=DIR")
      ->type_name("KEY.PATH=VALUE")
      ->allow_extra_args(false);
  app.footer(
      "Checks the chain of audit.jsonl against itself, the checkpoints and metrics.jsonl. With\n"
      "--from or --random it also trains these steps again, on the devices of the run's kind that\n"
      "are here, and compares each with its record to the last bit. It writes nothing. Exit code\n"
      "0: all is equal; 1: something was changed or differs; 9: what was replayed is equal, but\n"
      "some steps cannot be reached by a replay; 2: no audit was recorded, or wrong usage.\n"
      "docs/audit.md says what that proves.\n\n"
      "  trainer audit runs/a\n"
      "  trainer audit runs/a --from 2000 --steps 100\n"
      "  trainer audit runs/a --random 5 --set data.path=/copy\n");
}

void add_compare_options(CLI::App& app, ParsedWords& words) {
  CompareArguments& c = words.arguments.compare;
  app.add_option("runs", c.runs, "directories of the two runs")
      ->required()
      ->expected(2)
      ->type_name("RUN_A RUN_B");
  app.add_flag("--bisect", c.bisect,
               "train both again from their last common checkpoint, and name the first step, "
               "tower, op and tensor that differ");
  app.add_option("--set", words.set, "a config key for both replays, such as devices=cpu")
      ->type_name("KEY.PATH=VALUE")
      ->allow_extra_args(false);
  app.footer(
      "Compares configs, losses, gradient norms and hashes of the weights (log.hash_every_steps)\n"
      "to the last bit. Exit code 0: equal in all that both record; 1: different.\n"
      "A replay writes nothing and needs the memory of both runs at once, in one process.\n\n"
      "  trainer compare runs/a runs/b --bisect --set devices=cpu\n");
}

void add_devices_options(CLI::App& app, ParsedWords& words) {
  app.add_flag("--probe", words.arguments.probe,
               "test each GPU by writing and reading its memory; exit code 8 if one fails");
  add_watch_options(app, words.arguments.watch);
}

void add_doctor_options(CLI::App& app, ParsedWords& words) {
  add_key_options(app, words);
  app.add_option("-o,--output", words.output, "folder whose disk to check; the same as output=DIR")
      ->type_name("DIR");
  app.add_flag("-q,--quiet", words.arguments.quiet, "no progress on stderr");
  add_doctor_options(app, words.arguments.doctor);
}

void add_doctor_peers_options(CLI::App& app, ParsedWords& words) {
  app.add_option("copies", words.arguments.doctor.copies, "0-1: from cuda:0 to cuda:1")->required();
}

void add_version_options(CLI::App& app, ParsedWords& words) {
  app.add_flag("--verbose", words.arguments.verbose, "build, libraries and GPU software too");
}

}  // namespace

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
