// The parsed command line of `trainer`.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spire/dataset_tools.h>
#include <spire/export_model.h>
#include <spire/text_generator.h>
#include <spire/world.h>

namespace spire {

struct BenchOptions;

// Options of `trainer predict`.
struct PredictArguments {
  std::string checkpoint = {};           // a name for find_checkpoint()
  std::string device = "auto";           // one word of the config's `devices`
  std::optional<int64_t> batch = {};     // samples, or texts, at once; none: 64, or 8
  std::string format = "csv";            // csv | json
  std::string to = {};                   // file, else stdout; images: folder, else ./predictions
  std::vector<std::string> inputs = {};  // files and folders; empty: the run's test data
  std::optional<std::string> on_error = {};     // what a bad input does: stop | skip
  int64_t count = 0;                            // number of samples; 0: all
  std::vector<std::string> prompt = {};         // texts to continue
  std::optional<std::string> prompt_file = {};  // file with one prompt
  std::optional<std::string> prompts = {};      // file with several prompts
  bool stream = false;                          // several prompts: write parts as they come
  TextOptions text = {};                        // as far as options set them
  std::string unknown = "stop";  // what a prompt's unknown character does: stop | skip
};

// Options of `trainer export`.
struct ExportArguments {
  std::string checkpoint = {};  // a name for find_checkpoint()
  std::string to = {};          // the file, whose ending is the format
  ExportOptions options = {};
};

// Options of `trainer dataset convert` and `inspect`.
struct DatasetArguments {
  ConvertOptions convert = {};
  std::string inspected = "auto";  // the format: auto (a table) | json
};

// Options of `trainer sweep`.
struct SweepArguments {
  std::string grid = {};                  // file with axes
  std::vector<std::string> devices = {};  // slots, as `devices` of a config names them
  int64_t jobs = 0;                       // number of slots; 0: one per device
};

// Options of `trainer lr-find`.
struct LrFindArguments {
  int64_t steps = 100;
  double low = 1e-6, high = 10;  // rates of the first and the last step
  std::string to = {};           // folder; empty: the current one
};

// Options of `trainer init`.
struct InitArguments {
  std::string data = {};       // file or folder
  std::string model = "auto";  // a name of model_names()
  std::string target = {};     // of a table: name or number of a column; empty: the last one
  std::vector<std::string> words = {};  // data.KEY=VALUE
};

// Options of `trainer compare`.
struct CompareArguments {
  std::vector<std::string> runs = {};  // two directories
  bool bisect = false;
};

// Options of `trainer audit`.
struct AuditArguments {
  std::string run = {};                  // directory
  std::optional<std::string> from = {};  // step, or file of a checkpoint
  int64_t random = 0, steps = 0;         // number of segments, and most steps of each; 0: all
  std::optional<uint64_t> seed = {};     // of the choice; none: by chance
};

// Options of `trainer report`.
struct ReportArguments {
  std::vector<std::string> runs = {};  // directories
  std::string to = {};                 // file; empty: report.html in the first run
  bool evaluate = false;
  std::string device = "auto";
};

// Options of `trainer doctor`, and of the processes that it starts (doctor-peers).
struct DoctorArguments {
  bool json = false;
  double copy_seconds = 5;               // limit of a copy between two GPUs
  std::vector<std::string> copies = {};  // doctor-peers: "0-1", "0+1" (with peer access)
};

// Options of `trainer devices --watch`.
struct WatchArguments {
  std::optional<double> seconds = {};  // between two samples; none: no --watch
  int64_t count = 0;                   // number of samples; 0: until Ctrl+C
};

struct Arguments {
  std::string command = {};  // "train", "eval", ...; empty: print `help`
  std::string typed = {};    // the whole command line
  std::string help = {};

  std::vector<std::string> configs = {};    // files; later ones override earlier ones
  std::vector<std::string> overrides = {};  // key.path=value; also from --output and --seed
  bool help_config = false;
  bool print_config = false;
  bool check = false;
  bool deep = false;  // --check also reads every sample

  std::optional<std::string> resume = {};  // a name for find_checkpoint()
  bool overwrite = false;
  bool on_validation = false;                // eval: on data.val, not on the test data
  int64_t dry_run = 0;                       // number of steps; 0: a real run
  std::optional<int64_t> processes = {};     // number of ranks to start
  std::optional<int64_t> max_restarts = {};  // largest number of restarts
  std::string timeline = {};                 // file; empty: none
  std::string timeline_steps = {};           // "10:12"
  PhaseHook on_phase = {};                   // of trainer_main()
  bool quiet = false;
  std::string log_level = "info";  // info | warning | error

  bool verbose = false;                 // option of `version`
  bool probe = false;                   // option of `devices`
  std::optional<std::string> gpu = {};  // option of `plan`: name of the GPU to estimate

  PredictArguments predict = {};
  ExportArguments exported = {};
  DatasetArguments dataset = {};
  std::shared_ptr<BenchOptions> bench = {};  // of `bench`, and of the processes that it starts
  SweepArguments sweep = {};
  AuditArguments audit = {};
  LrFindArguments lr_find = {};
  InitArguments init = {};
  CompareArguments compare = {};
  ReportArguments report = {};
  DoctorArguments doctor = {};
  WatchArguments watch = {};
};

// The variables that CLI11 sets while it parses; Arguments are made from them.
struct ParsedWords {
  Arguments arguments;
  std::vector<std::string> set;            // --set
  std::optional<std::string> output = {};  // --output, where it means output=DIR
  std::optional<std::string> serve = {};
  std::string seed;
};

// words: without the program's name. Throws Error(config) that suggests the nearest known word.
Arguments parse_arguments(std::vector<std::string> words);

}  // namespace spire
