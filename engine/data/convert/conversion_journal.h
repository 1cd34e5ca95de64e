// Journal of a conversion: a file with its progress and a fingerprint of its source. If a
// conversion is interrupted, the same command resumes from it. Internal to this folder.
#pragma once
#include <chrono>
#include <utility>
#include <vector>

#include <spire/dataset_tools.h>

#include "engine/base/write_file.h"

namespace spire {

ConvertResult convert_to_hdf5(const RunConfig& config, const ConvertOptions& options);
ConvertResult convert_to_tokens(const RunConfig& config, const ConvertOptions& options);

// Throws Error(interrupted) if options.stop is set.
void stop_if_asked(const ConvertOptions& options, const WorkProgress& progress);
[[noreturn]] void refuse_existing(const std::filesystem::path& target);  // throws Error(config)
// Creates `folder`. Throws Error(config), naming `to`, the user's option --to.
void make_folder(const std::filesystem::path& folder, const std::filesystem::path& to);

struct ConversionFingerprint {
  std::string config;   // the keys and options on which the result depends
  std::string samples;  // number and schema of the samples
  std::string files;    // checksum of the names, sizes and modification times of the files

  bool operator==(const ConversionFingerprint&) const = default;
};

// options: text to append to `config`. Throws Error(data) for a file that cannot be examined.
ConversionFingerprint fingerprint_of(const RunConfig& config, const std::string& options,
                                     std::string samples,
                                     const std::vector<std::filesystem::path>& files);

class ConversionJournal {
 public:
  using Counters = std::vector<int64_t>;  // the progress; each conversion gives them a meaning

  ConversionJournal(std::filesystem::path path, size_t counters)
      : path_(std::move(path)), done_(counters) {}

  // Reads the counters. Returns false if the conversion must start anew: if there is no intact
  // journal or fits(counters) is false. For a journal of another source throws Error(data), which
  // names `partial` and what changed; with `restart` returns false.
  bool resume(const ConversionFingerprint& source, const std::filesystem::path& partial,
              bool restart, const std::function<bool(const Counters&)>& fits);

  // Syncs `partial`, as the counters must not be ahead of the disk, then writes the counters.
  void save(const PreallocatedFile& partial);
  // Calls save(), unless the last save was less than `seconds` ago.
  void save_if_due(const PreallocatedFile& partial, double seconds);
  void remove() const { std::filesystem::remove(path_); }

  int64_t& done(size_t counter = 0) { return done_[counter]; }

 private:
  std::filesystem::path path_;
  ConversionFingerprint source_;
  Counters done_;
  std::chrono::steady_clock::time_point saved_at_;
};

}  // namespace spire
