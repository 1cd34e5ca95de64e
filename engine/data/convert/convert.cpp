#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include <spire/dataset_tools.h>
#include <spire/run_config.h>

#include "engine/base/fail.h"
#include "engine/base/hash.h"
#include "engine/base/read_file.h"
#include "engine/base/system.h"
#include "engine/config/schema.h"
#include "engine/config/text.h"
#include "engine/data/convert/conversion.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Returns whether the result depends on the key. Those ignored say how samples are read or
// presented, not what is stored.
bool matters(const Field& field) {
  constexpr std::array ignored = {"data.workers", "data.prefetch", "data.last_batch",
                                  "data.shuffle", "data.hdf5.cache_mib"};
  return field.path.starts_with("data.") && !field.path.starts_with("data.augment.") &&
         std::ranges::count(ignored, field.path) == 0;
}

std::string first_difference(const std::string& before, const std::string& now) {
  std::istringstream old_lines(before), new_lines(now);
  std::string was, is;
  while (std::getline(old_lines, was) && std::getline(new_lines, is))
    if (was != is) return fmt::format("{} (now {})", was, is);
  return "another number of keys";
}

// Hashes sizes and times, not contents: that would take as long as the conversion.
std::string checksum_of(const std::vector<fs::path>& files) {
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

std::string change_between(const ConversionFingerprint& before, const ConversionFingerprint& now) {
  if (before.config != now.config)
    return "another config, " + first_difference(before.config, now.config);
  return before.files != now.files ? "files that have changed since" : "other samples";
}

}  // namespace

ConvertResult convert_dataset(const RunConfig& config, const ConvertOptions& options) {
  bool text = config.data.name == "tokens" && !config.data.tokens.text.empty();
  std::string format = options.format == "auto" ? (text ? "tokens" : "hdf5") : options.format;
  if (format == "hdf5" && config.data.tokens.documents == TokensConfig::Documents::packed &&
      config.data.name == "tokens")
    fail(Category::config,
         "data.tokens.documents: packed rows are made anew in each epoch and have no form in HDF5; "
         "use --format tokens, whose shards keep the documents, or joined");
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

void refuse_existing(const fs::path& target) {
  fail(Category::config, "{}: exists already; choose another --to, or add --overwrite",
       target.string());
}

void make_folder(const fs::path& folder, const fs::path& to) {
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error)
    fail(category_of(error.value(), Category::config), "--to {}: cannot create the folder: {}",
         to.string(), error.message());
}

ConversionFingerprint fingerprint_of(const RunConfig& config, const std::string& options,
                                     std::string samples, const std::vector<fs::path>& files) {
  std::string keys;
  for (const Field& field : schema())
    if (matters(field)) keys += fmt::format("{}: {}\n", field.path, value_text(field, config));
  return {keys + options, std::move(samples), checksum_of(files)};
}

bool ConversionJournal::resume(const ConversionFingerprint& source, const fs::path& partial,
                               bool restart, const std::function<bool(const Counters&)>& fits) {
  source_ = source;  // of later saves, whatever the file says
  std::optional<std::string> text = read_file_if_there(path_, Category::data);
  ConversionFingerprint before;
  Counters done;
  // A torn or foreign file is no journal: the conversion starts anew.
  try {
    Json json = Json::parse(text.value_or(""));
    before = {json.at("config"), json.at("samples"), json.at("files")};
    done = json.at("done").get<Counters>();
  } catch (const Json::exception&) {
    return false;
  }
  bool same = before == source;
  if (!same && !restart)
    fail(Category::data, "{}: was started with {}; delete it or add --overwrite to start again",
         partial.string(), change_between(before, source));
  bool resumed = same && done.size() == done_.size() && fits(done);
  if (resumed) done_ = done;
  return resumed;
}

void ConversionJournal::save(const PreallocatedFile& partial) {
  partial.sync();
  Json json = {{"config", source_.config},
               {"samples", source_.samples},
               {"files", source_.files},
               {"done", done_}};
  write_file_atomically(path_, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n",
                        Category::data);
  saved_at_ = std::chrono::steady_clock::now();
}

void ConversionJournal::save_if_due(const PreallocatedFile& partial, double seconds) {
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - saved_at_;
  if (passed.count() >= seconds) save(partial);
}

}  // namespace spire
