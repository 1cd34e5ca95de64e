// trainer dataset convert: a dataset of any kind as one HDF5 file, or a text as token shards.
#pragma once
#include <atomic>
#include <functional>

#include "engine/data/dataset.h"

namespace spire::inline data {

struct WorkProgress {
  int64_t done = 0, total = 0;
  const char* unit = "rows";  // or "bytes" of text
};

struct ConvertOptions {
  // tokens: the folder. hdf5: the file where it ends in .h5 or .hdf5, else the folder of data.h5.
  std::filesystem::path to = {};
  std::string format = "auto";  // hdf5 | tokens | auto: tokens for text, else hdf5
  // Of the training rows in an HDF5 file: source; shuffled, by the config's seed; auto: shuffled
  // where the source has them class by class (image_folder).
  std::string order = "auto";
  bool overwrite = false;              // replace what is there, once the new one is whole
  int64_t shard_tokens = 100'000'000;  // of a token shard, at most
  double journal_seconds = 1;          // at most so much work is done again after a kill
  const std::atomic<bool>* stop = nullptr;
  // Called at the start, and as work is done, by one thread at a time.
  std::function<void(const WorkProgress&)> on_progress = [](const WorkProgress&) {};
};

struct ConvertResult {
  std::filesystem::path path;   // what data.path is to be
  std::string format;           // what data.name is to be
  int64_t train = 0, test = 0;  // rows, or tokens
  int64_t bytes = 0;            // on disk
  bool resumed = false;
  int64_t skipped = 0;  // broken samples, since it was started or resumed
  std::string first_problem = {};
};

// Samples are stored as ReadOptions::stored has them; data.augment does not count. Until all is
// written the result is called "<path>.partial", and beside or in it a journal says how far it is:
// the same call goes on there, whatever ended the one before, and makes the same bytes. Reads with
// data.workers threads.
// Throws Error(config) for what cannot be converted or is there already; Error(data) for broken
// samples (data.on_error skip: as in a training, the next good one takes its place), for a full
// disk, and where a partial one is of another source; Error(interrupted) when it was stopped.
ConvertResult convert_dataset(const RunConfig& config, const ConvertOptions& options);

// The two kinds, for convert.cpp.
ConvertResult convert_to_hdf5(const RunConfig& config, const ConvertOptions& options);
ConvertResult convert_to_tokens(const RunConfig& config, const ConvertOptions& options);

// Throws Error(interrupted).
void stop_if_asked(const ConvertOptions& options, const WorkProgress& progress);

}  // namespace spire::inline data
