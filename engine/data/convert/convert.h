// Conversion of a dataset of any kind to one HDF5 file, or of a text to token shards.
#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include <spire/run_config.h>

namespace spire::inline data {

struct WorkProgress {
  int64_t done = 0, total = 0;
  const char* unit = "rows";  // or "bytes" of text
};

struct ConvertOptions {
  // hdf5: a file *.h5 or *.hdf5, else the folder of data.h5. tokens: a folder.
  std::filesystem::path to = {};
  std::string format = "auto";  // hdf5 | tokens | auto: tokens for text, else hdf5
  // Of training rows in HDF5: source | shuffled, by the seed | auto: shuffled if sorted by class.
  std::string order = "auto";
  bool overwrite = false;              // replace an existing result, once the new one is complete
  int64_t shard_tokens = 100'000'000;  // of a token shard, at most
  double journal_seconds = 1;          // interval of the journal: work lost by a kill
  const std::atomic<bool>* stop = nullptr;
  // Is called at the start and as work is done, by one thread at a time.
  std::function<void(const WorkProgress&)> on_progress = [](const WorkProgress&) {};
};

struct ConvertResult {
  std::filesystem::path path;   // for data.path
  std::string format;           // for data.name
  int64_t train = 0, test = 0;  // rows, or tokens
  int64_t bytes = 0;            // on disk
  bool resumed = false;
  int64_t skipped = 0;  // corrupt samples since the start or resumption
  std::string first_problem = {};
};

// Converts with data.workers threads. Stores samples as by ReadOptions::stored. An interrupted call
// leaves "<path>.partial" and a journal: the same call resumes to the same bytes. Throws
// Error(config) for an unsuitable source or an existing target, Error(data) for corrupt samples, a
// full disk or a partial result of another source, Error(interrupted) when stopped.
ConvertResult convert_dataset(const RunConfig& config, const ConvertOptions& options);

}  // namespace spire::inline data
