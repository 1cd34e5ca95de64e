// The options of `trainer bench`.
#include <fmt/ranges.h>

#include "engine/config/words.h"
#include "tools/bench/bench.h"
#include "tools/bench/runs/variants.h"
#include "tools/commands.h"
#include "tools/common_options.h"

namespace spire {

// CLI11 finds these by the types of the options. The options' checks have refused other words.
template <HasWords Enum>
static bool take_word(const std::string& word, Enum& value) {
  auto found = find_word<Enum>(word);
  value = found.value_or(value);
  return found.has_value();
}
static bool lexical_cast(const std::string& word, Kind& kind) {
  return take_word(word, kind);
}
static bool lexical_cast(const std::string& word, Scaling& scaling) {
  return take_word(word, scaling);
}
static bool lexical_cast(const std::string& word, RunConfig::Precision& precision) {
  return take_word(word, precision);
}
static bool lexical_cast(const std::string& word, RunConfig::Strategy& strategy) {
  return take_word(word, strategy);
}

namespace {

// Bounds of trainer bench, far above what is useful, so that products of two fit into 64 bits.
constexpr int64_t most_devices = 1'000'000, most_rounds = 1'000'000, most_steps = 1'000'000'000;

void add_variant_options(CLI::App& app, VariantRequest& v) {
  add_list(app, "--counts", v.counts,
           "numbers of devices; default: 1, 2, 4, ... up to all. A CPU device is one core, that is "
           "one logical CPU (tower_threads cores)")
      ->check(positive_integer)
      ->type_name("N,...");
  app.add_option("--kind", v.kind, "devices to use; default: GPUs if there are any")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->type_name("cpu|cuda");
  add_list(app, "--scaling", v.scaling,
           "strong: the run's towers stay (default: the config's, else the largest count), so that "
           "every count trains the same bits; weak: towers grow with the devices; default: both")
      ->check(CLI::IsMember({"strong", "weak"}))
      ->type_name("strong,weak");
  app.add_option("--towers-per-device", v.towers_per_device, "for weak scaling; default: 1")
      ->check(integer_between(1, most_devices))
      ->type_name("N");
  add_list(app, "--precisions", v.precisions, "default: the config's precision")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16", "exact"}))
      ->type_name("fp32,bf16,fp16,exact");
  add_list(app, "--strategies", v.strategies, "default: the config's strategy")
      ->check(CLI::IsMember({"parameter_device", "mirrored", "sharded"}))
      ->type_name("parameter_device,mirrored,sharded");
  add_list(app, "--processes", v.processes,
           "numbers of processes that share the devices of a run equally: each count that a number "
           "divides; default: 1")
      ->check(positive_integer)
      ->type_name("N,...");
}

// What else the benchmark makes than timed runs.
void add_bench_products(CLI::App& app, BenchOptions& b) {
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

}  // namespace

void add_bench_options(CLI::App& app, ParsedWords& words) {
  words.arguments.bench = std::make_shared<BenchOptions>();
  BenchOptions& b = *words.arguments.bench;
  add_key_options(app, words);
  app.add_option("--model", b.model, "instead of --config, a built-in config with synthetic data")
      ->check(CLI::IsMember(built_in_models()))
      ->excludes(app.get_option("--config"))
      ->type_name(fmt::format("{}", fmt::join(built_in_models(), "|")));
  add_variant_options(app, b.variants);
  app.add_option(
         "--steps", b.timed.steps,
         "timed steps of each run; default: as many as take 5 s in a trial of the shortest step")
      ->check(integer_between(1, most_steps))
      ->type_name("N");
  app.add_option("--warmup", b.timed.warmup, "steps before them, at least 1; default: 3")
      ->check(integer_between(1, most_steps))
      ->type_name("N");
  app.add_option("--rounds", b.timed.rounds, "runs of each variant, in rotating order; default: 3")
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
  words.arguments.bench = std::make_shared<BenchOptions>();
  BenchOptions& b = *words.arguments.bench;
  add_key_options(app, words);
  app.add_option("--steps", b.timed.steps, "timed steps")
      ->required()
      ->check(integer_between(1, most_steps));
  app.add_option("--warmup", b.timed.warmup, "steps before them")
      ->required()
      ->check(integer_between(1, most_steps));
  app.add_option("--started", b.started, "steady clock at its start, in ns")->required();
}

}  // namespace spire
