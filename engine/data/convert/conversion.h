// What conversions and verification share: the journal of a conversion, the HDF5 file that it
// fills, and a loop over blocks of rows. Internal to this folder.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <spire/dataset_tools.h>

#include "engine/base/fail.h"
#include "engine/base/thread.h"
#include "engine/base/write_file.h"
#include "engine/data/dataset.h"
#include "engine/data/sample.h"

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

// options: text to append to ConversionFingerprint::config. Throws Error(data) for a file that
// cannot be examined.
ConversionFingerprint fingerprint_of(const RunConfig& config, const std::string& options,
                                     std::string samples,
                                     const std::vector<std::filesystem::path>& files);

// A file with a conversion's progress and a fingerprint of its source. If the conversion is
// interrupted, the same command resumes from it.
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

// Skeleton of an HDF5 file of samples: a file that is complete except for its rows, for which space
// is reserved at known offsets, so that they are written without libhdf5. The groups train, test
// and, where it has rows, val contain one dataset per column, with the column's name;
// hdf5_checksum_group has their checksums.

struct SkeletonColumn {
  int64_t rows_offset = 0, checksums_offset = 0;  // in bytes from the beginning of the file
};

struct Hdf5Skeleton {
  std::vector<std::array<SkeletonColumn, 2>> columns = {};  // [split][input, target]
  int64_t bytes = 0;                                        // size of the whole file
};

inline constexpr std::array<const char*, 3> hdf5_splits = {"train", "test", "val"};

struct SkeletonRows {
  std::vector<int64_t> count = {};  // rows of train, test and perhaps val
  int64_t block = 0;                // rows per checksum

  size_t splits() const { return count.size(); }
  int64_t blocks(size_t split) const { return (count[split] + block - 1) / block; }
};

// Returns the size of all rows and checksums, in bytes, without the file's metadata.
int64_t skeleton_row_bytes(const SampleSpec& spec, const SkeletonRows& rows);

// Makes or replaces the file; equal arguments give equal bytes. spec: of the rows as stored.
// read_hdf5_skeleton() returns the offsets in such a file.
void write_hdf5_skeleton(const std::filesystem::path& path, const SampleSpec& spec,
                         const SkeletonRows& rows);
Hdf5Skeleton read_hdf5_skeleton(const std::filesystem::path& path, const SampleSpec& spec,
                                size_t splits);

// Loop over blocks of rows on several threads, for conversion and verification.

// Distributes blocks over `threads` threads: the calling one, and others named "<name> 1" and so
// on. Each thread calls next(), one at a time, and passes the block to body(block,
// SampleBuffer&), until next() returns nullopt. After next() or body() has thrown, no other call
// begins. Returns the first exception; null if there was none.
template <typename Next, typename Body>
std::exception_ptr run_blocks(int64_t threads, const char* name, const Next& next,
                              const Body& body) {
  std::mutex mutex;  // guards `error`, and calls of next()
  std::exception_ptr error;
  auto next_unless_failed = [&]() -> std::optional<int64_t> {
    std::lock_guard lock(mutex);
    return error ? std::nullopt : next();
  };
  auto work = [&] {
    SampleBuffer buffer;
    try {
      while (std::optional<int64_t> block = next_unless_failed()) body(*block, buffer);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int64_t i = 1; i < threads; ++i)
      others.push_back(start_thread({fmt::format("{} {}", name, i), {}}, work));
    work();
  }
  return error;
}

}  // namespace spire
