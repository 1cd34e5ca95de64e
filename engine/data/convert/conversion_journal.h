// Journal of a conversion: a file with its progress and a fingerprint of its source, from which the
// same command resumes after a stop. Internal to this folder.
#pragma once
#include <chrono>
#include <utility>
#include <vector>

#include "engine/base/write_file.h"
#include "engine/data/convert/convert.h"

namespace spire::inline data {

ConvertResult convert_to_hdf5(const RunConfig& config, const ConvertOptions& options);
ConvertResult convert_to_tokens(const RunConfig& config, const ConvertOptions& options);

// Throws Error(interrupted) when options.stop is set.
void stop_if_asked(const ConvertOptions& options, const WorkProgress& progress);
[[noreturn]] void refuse_existing(const std::filesystem::path& target);  // Error(config)
// Creates the folder for `to`. Throws Error(config).
void make_folder(const std::filesystem::path& folder, const std::filesystem::path& to);

struct ConversionFingerprint {
  std::string config;   // the keys and options that the result depends on
  std::string samples;  // their number and schema
  std::string files;    // checksum of names, sizes and times of the files

  bool operator==(const ConversionFingerprint&) const = default;
};

// options: lines added to the config. Throws Error(data) for a file that cannot be examined.
ConversionFingerprint fingerprint_of(const RunConfig& config, const std::string& options,
                                     std::string samples,
                                     const std::vector<std::filesystem::path>& files);

class ConversionJournal {
 public:
  using Counters = std::vector<int64_t>;

  ConversionJournal(std::filesystem::path path, size_t counters)
      : path_(std::move(path)), done_(counters) {}

  // Takes the counters of the file. Returns false where the conversion starts anew: without a
  // complete journal, or where `fits` refuses its counters. For a journal of another source throws
  // Error(data) with what changed; with `restart` returns false.
  bool resume(const ConversionFingerprint& source, const std::filesystem::path& partial,
              bool restart, const std::function<bool(const Counters&)>& fits);

  // Syncs `partial`, then writes the counters, which must not run ahead of the disk.
  void save(const PreallocatedFile& partial);
  // The same, unless the last save is less than `seconds` ago.
  void save_if_due(const PreallocatedFile& partial, double seconds);
  void remove() const { std::filesystem::remove(path_); }

  int64_t& done(size_t counter = 0) { return done_[counter]; }

 private:
  std::filesystem::path path_;
  ConversionFingerprint source_;
  Counters done_;
  std::chrono::steady_clock::time_point saved_at_;
};

}  // namespace spire::inline data
