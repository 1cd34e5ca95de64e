// Journal of a conversion: its progress and a fingerprint of its source, so that the same command
// resumes after a stop. Internal to this folder, as are the two conversions.
#pragma once
#include <optional>

#include "engine/data/convert/convert.h"

namespace spire::inline data {

ConvertResult convert_to_hdf5(const RunConfig& config, const ConvertOptions& options);
ConvertResult convert_to_tokens(const RunConfig& config, const ConvertOptions& options);

// Throws Error(interrupted) when options.stop is set.
void stop_if_asked(const ConvertOptions& options, const WorkProgress& progress);

// All that the result is a function of.
struct ConversionFingerprint {
  std::string config;   // keys that say what is read and how
  std::string samples;  // their number and schema
  std::string files;    // checksum of names, sizes and times of the files

  bool operator==(const ConversionFingerprint&) const = default;
};

// Returns the keys of data.* that the result depends on, and `more`.
std::string conversion_config(const RunConfig& config, const std::string& more);
// Throws Error(data) for a file that cannot be examined.
std::string checksum_of_files(const std::vector<std::filesystem::path>& files);

// Throws Error(config) where the target is one of the input files, by this name or another one.
void refuse_overwriting_input(const std::filesystem::path& target,
                              const std::vector<std::filesystem::path>& files);

struct ConversionJournal {
  ConversionFingerprint source;
  std::vector<int64_t> done;  // counters of the conversion
};

// Returns nullopt where there is no journal, or no complete one. Throws Error(data) for one that
// cannot be read.
std::optional<ConversionJournal> read_journal(const std::filesystem::path& path);
void write_journal(const std::filesystem::path& path, const ConversionJournal& journal);

// Throws Error(data) saying what changed since `journal` was written: config, files or samples.
void require_same_fingerprint(const ConversionJournal& journal, const ConversionFingerprint& now,
                              const std::filesystem::path& partial);

}  // namespace spire::inline data
