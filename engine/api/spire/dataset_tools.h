// Converts and verifies datasets that a config names (docs/formats.md).
#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <spire/export.h>
#include <spire/run_config.h>

namespace spire {

struct WorkProgress {
  int64_t done = 0, total = 0;
  const char* unit = "rows";  // "rows", or "bytes" of text
};

struct ConvertOptions {
  // Where to write. hdf5: a file named *.h5 or *.hdf5, or a folder, which gets a file data.h5.
  // tokens: a folder.
  std::filesystem::path to = {};
  std::string format = "auto";  // hdf5 | tokens | auto, which is tokens for text, else hdf5
  // Order of HDF5's training rows: source | shuffled (by seed) | auto, which is shuffled for
  // image_folder, whose files are sorted by class, else source.
  std::string order = "auto";
  bool overwrite = false;              // replace an existing result, once the new one is complete
  int64_t shard_tokens = 100'000'000;  // most tokens in one shard
  double journal_seconds = 1;  // time between saves of progress; a kill loses that much work
  const std::atomic<bool>* stop = nullptr;  // set it to interrupt the call; null: never
  // Called at the start and as work is done, by one thread at a time.
  std::function<void(const WorkProgress&)> on_progress = [](const WorkProgress&) {};
};

struct ConvertResult {
  std::filesystem::path path;            // value of data.path that reads the result
  std::string format;                    // value of data.name that reads the result
  int64_t train = 0, test = 0, val = 0;  // numbers of rows, or of tokens
  int64_t bytes = 0;                     // size on disk
  bool resumed = false;                  // an earlier, interrupted call did a part of the work
  int64_t skipped = 0;             // corrupt samples that this call left out (data.on_error: skip)
  std::string first_problem = {};  // message about the first of them; empty: there is none
};

// Converts a dataset of any kind to one HDF5 file, or text to token shards, with data.workers
// threads. Samples are stored as in the source: not normalized, not augmented. An interrupted call
// leaves "<path>.partial" and a journal; a call with the same arguments continues from them, and
// its result has the bytes of an uninterrupted call. Throws Error(config) for an unsuitable source
// or an existing target, Error(data) for a corrupt sample (with data.on_error: stop) or a partial
// result of another source, Error(device) for a full disk, Error(interrupted) if stopped.
SPIRE_API ConvertResult convert_dataset(const RunConfig& config, const ConvertOptions& options);

struct VerifyOptions {
  const std::atomic<bool>* stop = nullptr;  // set it to interrupt the call; null: never
  // Called by one thread at a time.
  std::function<void(const WorkProgress&)> on_progress = [](const WorkProgress&) {};
  int threads = 0;  // number of reader threads; 0: one per core
};

struct SplitReport {
  int64_t rows = 0;                        // all rows of the split
  int64_t bad = 0;                         // rows that cannot be read
  bool none_good = false;                  // all rows are bad
  int64_t checksums = 0;                   // row checksums that were compared
  int64_t wrong = 0;                       // checksums that do not match
  std::vector<std::string> problems = {};  // the first max_problems (dataset.h), with their places
};

struct VerifyResult {
  SplitReport train, test, val = {};  // val.rows 0: there is no validation data

  // Sums over all splits.
  int64_t bad() const { return train.bad + test.bad + val.bad; }
  int64_t wrong() const { return train.wrong + test.wrong + val.wrong; }
  bool good() const { return bad() + wrong() == 0; }
};

// Reads every row of all splits once and compares all checksums. Throws Error(data) if a file
// cannot be opened or changes meanwhile, Error(interrupted) if stopped.
SPIRE_API VerifyResult verify_dataset(const RunConfig& config, const VerifyOptions& options);

}  // namespace spire
