#include "engine/data/convert/convert.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include <spire/error.h>

#include "engine/base/hash.h"
#include "engine/base/read_file.h"
#include "engine/base/write_file.h"
#include "engine/config/schema.h"
#include "engine/config/text.h"
#include "engine/data/convert/conversion_journal.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Returns whether the result depends on the key.
bool matters(const Field& field) {
  constexpr std::array ignored = {"data.workers", "data.prefetch", "data.last_batch",
                                  "data.shuffle", "data.hdf5.cache_mib"};
  return field.path.starts_with("data.") && !field.path.starts_with("data.augment.") &&
         std::ranges::count(ignored, field.path) == 0;
}

// Returns the first line of two configs that differs, for the message.
std::string first_difference(const std::string& before, const std::string& now) {
  std::istringstream old_lines(before), new_lines(now);
  std::string was, is;
  while (std::getline(old_lines, was) && std::getline(new_lines, is))
    if (was != is) return fmt::format("{} (now {})", was, is);
  return "another number of keys";
}

}  // namespace

ConvertResult convert_dataset(const RunConfig& config, const ConvertOptions& options) {
  bool text = config.data.name == "tokens" && !config.data.tokens.text.empty();
  std::string format = options.format == "auto" ? (text ? "tokens" : "hdf5") : options.format;
  if (format == "hdf5") return convert_to_hdf5(config, options);
  if (format != "tokens")
    fail(Category::config, "--format {}: must be hdf5 or tokens", options.format);
  if (!text)
    fail(Category::config,
         "--format tokens: token shards are made from text; add data.name=tokens and "
         "data.tokens.text=FILE");
  return convert_to_tokens(config, options);
}

void stop_if_asked(const ConvertOptions& options, const WorkProgress& progress) {
  if (options.stop != nullptr && options.stop->load())
    fail(Category::interrupted,
         "stopped by a signal at {} of {} {}; repeat the same command to continue", progress.done,
         progress.total, progress.unit);
}

std::string conversion_config(const RunConfig& config, const std::string& more) {
  std::string text;
  for (const Field& field : schema())
    if (matters(field)) text += fmt::format("{}: {}\n", field.path, value_text(field, config));
  return text + more;
}

std::string checksum_of_files(const std::vector<fs::path>& files) {
  uint64_t hash = 0;
  for (const fs::path& file : files) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0)
      fail(Category::data, "{}: cannot be read: {}; check the disk", file.string(),
           std::strerror(errno));
    std::string line = fmt::format("{} {} {}.{:09}", fs::absolute(file).string(), status.st_size,
                                   status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    hash = hash64(line.data(), line.size(), hash);
  }
  return hex(hash);
}

void refuse_overwriting_input(const fs::path& target, const std::vector<fs::path>& files) {
  std::error_code error;
  for (const fs::path& file : files)
    if (fs::equivalent(target, file, error))
      fail(Category::config, "--to: {} is one of the files that are read; write somewhere else",
           target.string());
}

std::optional<ConversionJournal> read_journal(const fs::path& path) {
  std::optional<std::string> text = read_file_if_there(path, Category::data);
  // A torn or foreign file is no journal: the conversion starts again.
  Json json = Json::parse(text.value_or(""), nullptr, false);
  if (!json.is_object()) return {};
  try {
    return ConversionJournal{{json.at("config"), json.at("samples"), json.at("files")},
                             json.at("done").get<std::vector<int64_t>>()};
  } catch (const Json::exception&) {
    return {};
  }
}

void write_journal(const fs::path& path, const ConversionJournal& journal) {
  Json json = {{"config", journal.source.config},
               {"samples", journal.source.samples},
               {"files", journal.source.files},
               {"done", journal.done}};
  write_file_atomically(path, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n",
                        Category::data);
}

void require_same_fingerprint(const ConversionJournal& journal, const ConversionFingerprint& now,
                              const fs::path& partial) {
  std::string change;
  if (journal.source.config != now.config) {
    change = "another config, " + first_difference(journal.source.config, now.config);
  } else if (journal.source.files != now.files) {
    change = "files that have changed since";
  } else if (journal.source.samples != now.samples) {
    change = "other samples";
  }
  if (!change.empty())
    fail(Category::data, "{}: was started with {}; delete it or add --overwrite to start again",
         partial.string(), change);
}

}  // namespace spire::inline data
