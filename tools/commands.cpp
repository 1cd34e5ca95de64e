#include "tools/commands.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include <spire/error.h>

#include "engine/bench/runs/built_in_models.h"
#include "engine/config/scalar.h"
#include "tools/doctor/doctor_options.h"

namespace spire::tool {

namespace {

// Checks of option values return what is wrong, or an empty string.
std::string positive_integer(const std::string& word) {
  try {
    return parse_integer(word) > 0 ? "" : fmt::format("expected at least 1, got {}", word);
  } catch (const Error& error) {
    return error.what();
  }
}

// Returns a check for an integer from `least` to `most`.
auto integer_between(int64_t least, int64_t most) {
  return [=](const std::string& word) -> std::string {
    try {
      int64_t value = parse_integer(word);
      if (value >= least && value <= most) return "";
      return fmt::format("expected {} to {}, got {}", least, most, word);
    } catch (const Error& error) {
      return error.what();
    }
  };
}

std::string one_of_levels(const std::string& word) {
  bool known = word == "info" || word == "warning" || word == "error";
  return known ? "" : fmt::format("must be info, warning or error, got '{}'", word);
}

// Options of every subcommand that reads a config.
void add_key_options(CLI::App& app, ParsedWords& words) {
  Arguments& a = words.arguments;
  // One FILE after each -c, else the words behind it would be files, too.
  app.add_option("-c,--config", a.configs, "YAML file of the run; several merge, later ones win")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("words", a.overrides, "a config key with its value; wins over files")
      ->type_name("KEY.PATH=VALUE");
  app.add_option("--set", words.set, "the same as an option")
      ->type_name("KEY.PATH=VALUE")
      ->allow_extra_args(false);
}

// Options that answer a question about the config instead of running.
void add_print_options(CLI::App& app, Arguments& a) {
  app.add_flag("--print-config", a.print_config,
               "print every value and where it came from, then exit");
  app.add_flag("--help-config", a.help_config, "print every config key, then exit");
}

// Options of subcommands that work on a run.
void add_config_options(CLI::App& app, ParsedWords& words) {
  add_key_options(app, words);
  app.add_option("-o,--output", words.output, "run directory; the same as output=DIR")
      ->type_name("DIR");
  app.add_option("--seed", words.seed, "the same as seed=N")->type_name("N");
  add_print_options(app, words.arguments);
}

// Options of subcommands that print progress.
void add_log_options(CLI::App& app, Arguments& a) {
  app.add_flag("-q,--quiet", a.quiet, "no progress on stderr; warnings and results stay");
  app.add_option("--log-level", a.log_level,
                 "which messages to print on stderr: this level and above")
      ->check(one_of_levels)
      ->type_name("info|warning|error");
}

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
                 "latest of the run in output; without this option: the best of the run in output. "
                 "Without --config with the "
                 "config of that run")
      ->type_name("RUN|FILE|best|latest");
  add_log_options(app, a);
}

// Options for language models.
void add_text_options(CLI::App& app, PredictArguments& p) {
  auto* prompt = app.add_option("--prompt", p.prompt, "language models: the text to continue");
  prompt->type_name("TEXT");
  app.add_option(
         "--prompt-file", p.prompt_file,
         "language models: file with the text to continue, without its last newline; -: stdin")
      ->excludes(prompt)
      ->type_name("FILE");
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
}

void add_predict_options(CLI::App& app, ParsedWords& words) {
  Arguments& a = words.arguments;
  PredictArguments& p = a.predict;
  app.add_option("--seed", words.seed, "seed of generated text; the same as seed=N")
      ->type_name("N");
  app.add_option("--checkpoint", p.checkpoint,
                 "a run's directory (its best), a checkpoint file, or best or latest of the run in "
                 "output=DIR")
      ->required()
      ->type_name("RUN|FILE|best|latest");
  // Inputs and keys are both words; arguments.cpp tells them apart.
  app.add_option(
         "words", a.overrides,
         "what to predict for: images (JPEG, PNG), folders of them, IDX or CSV files; "
         "without any: the run's test data. A word KEY.PATH=VALUE changes a config key, "
         "such as data.path of the test data; for a file whose name looks like that, write ./NAME")
      ->type_name("INPUT");
  app.add_option("--device", p.device, "where to compute: cpu, or a GPU such as cuda:0")
      ->type_name("DEVICE");
  app.add_option("--batch", p.batch, "samples computed at a time")
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

// A list of words or numbers: "--counts 1,2,4".
template <typename T>
CLI::Option* add_list(CLI::App& app, const char* name, std::vector<T>& list, const char* help) {
  return app.add_option(name, list, help)->delimiter(',')->allow_extra_args(false);
}

// Bounds of trainer bench, far above what is useful, so that products of two fit into 64 bits.
constexpr int64_t most_devices = 1'000'000, most_rounds = 1'000'000, most_steps = 1'000'000'000;

void add_bench_choices(CLI::App& app, BenchArguments& b) {
  add_list(app, "--counts", b.counts,
           "numbers of devices; default: 1, 2, 4, ... up to all. A CPU device is one core, that is "
           "one logical CPU (tower_threads cores)")
      ->check(positive_integer)
      ->type_name("N,...");
  app.add_option("--kind", b.kind, "devices to use; default: GPUs if there are any")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->type_name("cpu|cuda");
  add_list(app, "--scaling", b.scaling,
           "strong: the run's towers stay (default: the config's, else the largest count), so that "
           "every count trains the same bits; weak: towers grow with the devices; default: both")
      ->check(CLI::IsMember({"strong", "weak"}))
      ->type_name("strong,weak");
  app.add_option("--towers-per-device", b.towers_per_device, "for weak scaling; default: 1")
      ->check(integer_between(1, most_devices))
      ->type_name("N");
  add_list(app, "--precisions", b.precisions, "default: the config's precision")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}))
      ->type_name("fp32,bf16,fp16");
  add_list(app, "--strategies", b.strategies, "default: the config's strategy")
      ->check(CLI::IsMember({"parameter_device", "mirrored", "sharded"}))
      ->type_name("parameter_device,mirrored,sharded");
  add_list(app, "--processes", b.processes,
           "numbers of processes that share the devices of a run equally: each count that a number "
           "divides; default: 1")
      ->check(positive_integer)
      ->type_name("N,...");
}

// What else the benchmark makes than timed runs.
void add_bench_products(CLI::App& app, BenchArguments& b) {
  CLI::Option* ops =
      app.add_flag("--ops", b.ops,
                   "time each op of a step on one device (or the first of --counts) beside its "
                   "roofline, instead of runs; prints the ten that lose most");
  CLI::Option* compare =
      app.add_option("--compare", b.compared,
                     "print the ratios of two reports (B to A) with their spread, and measure "
                     "nothing")
          ->expected(2)
          ->type_name("A.json B.json");
  for (const char* of_runs : {"--scaling", "--processes", "--steps", "--warmup", "--rounds",
                              "--output", "--overwrite", "--no-ceilings"}) {
    ops->excludes(app.get_option(of_runs));
    compare->excludes(app.get_option(of_runs));
  }
  for (const char* of_models : {"--model", "--config", "--ops", "--counts", "--kind"})
    compare->excludes(app.get_option(of_models));
  CLI::Option* link =
      app.add_option("--link", b.link,
                     "connection between the devices of --predict: nvlink, pcie, ib:400Gb, "
                     "eth:100Gb, or alpha,beta in seconds and seconds a byte")
          ->excludes(ops)
          ->excludes(compare)
          ->type_name("LINK");
  CLI::Option* predict =
      add_list(
          app, "--predict", b.predicted,
          "numbers of devices whose speed to predict by a model of their exchanges, from the runs "
          "on one device; needs --link")
          ->check(integer_between(1, most_devices))
          ->needs(link)
          ->excludes(app.get_option("--no-ceilings"))
          ->type_name("N,...");
  link->needs(predict);
}

void add_bench_options(CLI::App& app, ParsedWords& words) {
  BenchArguments& b = words.arguments.bench;
  add_key_options(app, words);
  app.add_option("--model", b.model, "instead of --config, a built-in config with synthetic data")
      ->check(CLI::IsMember(built_in_models()))
      ->excludes(app.get_option("--config"))
      ->type_name(fmt::format("{}", fmt::join(built_in_models(), "|")));
  add_bench_choices(app, b);
  app.add_option(
         "--steps", b.steps,
         "timed steps of each run; default: as many as take 5 s in a trial of the shortest step")
      ->check(integer_between(1, most_steps))
      ->type_name("N");
  app.add_option("--warmup", b.warmup, "steps before them, at least 1; default: 3")
      ->check(integer_between(1, most_steps))
      ->type_name("N");
  app.add_option("--rounds", b.rounds, "runs of each variant, in rotating order; default: 3")
      ->check(integer_between(1, most_rounds))
      ->type_name("N");
  app.add_option("--data", b.data,
                 "synthetic (default): random samples in memory, of the form of the config's; "
                 "real: the config's data, with reading, decoding and augmentation")
      ->check(CLI::IsMember({"synthetic", "real"}))
      ->type_name("synthetic|real");
  app.add_option("-o,--output", b.output,
                 "folder for bench.html, bench.json and bench.csv; default: runs/bench/TIME")
      ->type_name("DIR");
  app.add_flag("--overwrite", b.overwrite, "replace the report that is in the folder");
  app.add_flag("--no-ceilings", b.no_ceilings,
               "do not measure the machine's own products, copies and sums first (about 3 s for "
               "each count)");
  add_bench_products(app, b);
  app.add_option("--seed", words.seed, "the same as seed=N")->type_name("N");
  add_print_options(app, words.arguments);
  add_log_options(app, words.arguments);
  app.footer(
      "Times the training steps of a model on growing numbers of devices. Each run is one\n"
      "or several new processes, without evaluations and files. A run that fails is reported,\n"
      "and the others go on. Exit code 1: all failed, or strong scaling gave different bits.\n\n"
      "  trainer bench --model resnet20 --counts 1,2 --precisions fp32,bf16\n"
      "  trainer bench --config run.yaml --scaling strong --processes 1,2 --data real\n"
      "  trainer bench --config run.yaml --predict 8,64,512 --link ib:400Gb\n"
      "  trainer bench --model resnet50 --ops precision=bf16\n"
      "  trainer bench --compare runs/before/bench.json runs/after/bench.json\n");
}

void add_bench_worker_options(CLI::App& app, ParsedWords& words) {
  BenchArguments& b = words.arguments.bench;
  add_key_options(app, words);
  app.add_option("--steps", b.steps, "timed steps")
      ->required()
      ->check(integer_between(1, most_steps));
  app.add_option("--warmup", b.warmup, "steps before them")
      ->required()
      ->check(integer_between(1, most_steps));
  app.add_option("--started", b.started, "steady clock at its start, in ns")->required();
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
      "Prints a table, the best first, and writes it as sweep.json and sweep.csv. Runs that fail\n"
      "are reported, and the others go on. After Ctrl+C, a kill or a power cut the same command\n"
      "goes on: runs that have ended stay, others resume from their checkpoints. Exit code 0: all\n"
      "runs are done or have diverged; 75: stopped; else that of the first run that failed.\n\n"
      "  trainer sweep --config run.yaml optimizer.lr=0.1,0.05,0.02 model.depth=8,20 --jobs 2\n"
      "  trainer sweep --config run.yaml --seed 1,2,3 --devices cuda:0,cuda:2 -o runs/seeds\n");
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
      {"eval", "evaluate a checkpoint on the test data", add_eval_options, run_eval},
      {"predict", "predict with a trained model: classes, values, images or text",
       add_predict_options, run_predict},
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
      {"compare", "say where two runs differ; --bisect: by step and tensor", add_compare_options,
       run_compare},
      {"report", "make a page of a run, or of several over each other", add_report_options,
       run_report},
      {"devices", "list this machine's devices and their memory; --probe: try its GPUs; --watch: live",
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

}  // namespace spire::tool
