// How far a conversion has come, and of what, so that the same command goes on after a stop.
#pragma once
#include <optional>

#include "engine/data/dataset.h"

namespace spire::inline data {

// What the result is a function of.
struct ConversionSource {
  std::string config;   // the keys that say what is read and how
  std::string samples;  // how many, and what one is
  std::string files;    // checksum of names, sizes and times of the files

  bool operator==(const ConversionSource&) const = default;
};

// The keys of data.* but for those that only a training run uses, the seed where it gives the order
// of rows, and `more`.
std::string conversion_config(const RunConfig& config, const std::string& more);
// Throws Error(data) for a file that cannot be looked at.
std::string checksum_of_files(const std::vector<std::filesystem::path>& files);

// Throws Error(config) where the target is one of the files, by this name or another one.
void require_other_files(const std::filesystem::path& target,
                         const std::vector<std::filesystem::path>& files);

struct ConversionJournal {
  ConversionSource source;
  std::vector<int64_t> done;  // as the conversion counts
};

// Nothing where there is none, or none that was written as a whole. Throws Error(data) where one is
// there and cannot be read.
std::optional<ConversionJournal> read_journal(const std::filesystem::path& path);
void write_journal(const std::filesystem::path& path, const ConversionJournal& journal);

// Throws Error(data) that says which of the three has changed since `journal` was written.
void require_same_source(const ConversionJournal& journal, const ConversionSource& now,
                         const std::filesystem::path& partial);

}  // namespace spire::inline data
