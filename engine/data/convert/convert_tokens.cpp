// Conversion of a text to token shards: encodes the text, part by part, into one long file of ids,
// then splits this into training and test shards.
#include <algorithm>
#include <string_view>

#include <spire/run_config.h>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/data/convert/conversion.h"
#include "engine/data/text/text_tokens.h"
#include "engine/data/text/token_dataset.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr size_t encoded_part = 1 << 20;  // of text encoded at once
constexpr int64_t id_bytes = sizeof(int32_t);
constexpr const char* ids_name = "ids";
constexpr const char* journal_name = "journal";

bool is_shard(const fs::path& path) {
  return path.extension() == ".tokens";
}

bool is_of_shards(const fs::path& path) {
  return is_shard(path) || path.filename() == "vocabulary.txt";
}

void remove_files(const fs::path& folder, bool (*chosen)(const fs::path&)) {
  for (const fs::path& name : list_folder(folder, Category::data))
    if (chosen(name)) fs::remove(folder / name);
}

// Returns the folder without a slash at its end, symbolic links resolved: a folder cannot be
// renamed over a link.
fs::path folder_of(const fs::path& to) {
  fs::path folder = to.filename().empty() ? to.parent_path() : to;
  std::error_code error;
  fs::path resolved = fs::is_symlink(folder, error) ? fs::canonical(folder, error) : fs::path();
  return error || resolved.empty() ? folder : resolved;
}

class TokenConversion {
 public:
  TokenConversion(const RunConfig& config, const ConvertOptions& options)
      : config_(config),
        options_(options),
        target_(folder_of(options.to)),
        partial_(target_.string() + ".partial"),
        journal_(partial_ / journal_name, 2) {}

  ConvertResult run() {
    check_target();
    text_ = read_token_text(config_.data.tokens, config_.data.on_error);
    result_.skipped = text_.skipped;
    result_.first_problem = text_.first_problem;
    make_folder(partial_, partial_);
    {
      PreallocatedFile ids(partial_ / ids_name);
      start_or_resume(ids);
      encode(ids);
      write_shards();
      for (const char* name : {ids_name, journal_name}) fs::remove(partial_ / name);
    }
    if (options_.overwrite) remove_files(target_, is_of_shards);
    rename_durably(partial_, target_);
    return result_;
  }

 private:
  void check_target() const;
  void start_or_resume(const PreallocatedFile& ids);
  void encode(const PreallocatedFile& ids);
  void write_shards();
  void write_split(const std::string& split, std::span<const int32_t> ids);

  int64_t& text_done() { return journal_.done(0); }  // bytes
  int64_t& ids_done() { return journal_.done(1); }
  WorkProgress progress() { return {text_done(), std::ssize(text_.text), "bytes"}; }

  const RunConfig& config_;
  const ConvertOptions& options_;
  fs::path target_, partial_;
  TokenText text_;
  ConversionJournal journal_;
  ConvertResult result_;
};

// Refuses to replace anything but shards: a mistyped --to must not delete another folder.
void TokenConversion::check_target() const {
  std::error_code error;
  fs::file_status found = fs::symlink_status(target_, error);
  if (!fs::exists(found)) return;
  if (!fs::is_directory(found))
    fail(Category::config, "{}: is a file, but token shards need a folder; choose another --to",
         target_.string());
  for (const auto& entry : fs::directory_iterator(target_)) {
    if (!options_.overwrite) refuse_existing(target_);
    if (!is_of_shards(entry.path()) || !entry.is_regular_file())
      fail(Category::config,
           "{}: is not a token shard, so --overwrite does not replace its folder; choose another "
           "--to",
           entry.path().string());
  }
}

void TokenConversion::start_or_resume(const PreallocatedFile& ids) {
  int64_t bytes = std::ssize(text_.text);
  ConversionFingerprint source = fingerprint_of(
      config_, fmt::format("--shard-tokens: {}\n", options_.shard_tokens),
      fmt::format("{} bytes of text, a vocabulary of {}", bytes, text_.vocabulary->size()),
      text_.files);
  result_.resumed = journal_.resume(source, partial_, options_.overwrite, [&](const auto& done) {
    return done[0] >= 0 && done[0] <= bytes && done[1] >= 0 && ids.bytes() >= done[1] * id_bytes;
  });
  if (!result_.resumed) remove_files(partial_, is_shard);
  // Ids behind the journal's position may be incomplete.
  ids.resize(ids_done() * id_bytes);
  journal_.save(ids);
  options_.on_progress(progress());
}

// Encodes the text from the journal's position on. Parts end where tokens cannot cross, so that
// parts give the same ids as the whole text.
void TokenConversion::encode(const PreallocatedFile& ids) {
  while (text_done() < std::ssize(text_.text)) {
    if (options_.stop != nullptr && options_.stop->load()) journal_.save(ids);
    stop_if_asked(options_, progress());
    auto first = static_cast<size_t>(text_done());
    size_t end = end_of_part(text_, first, encoded_part);
    std::vector<int32_t> part =
        text_.vocabulary->encode(std::string_view(text_.text).substr(first, end - first));
    ids.write(ids_done() * id_bytes, std::as_bytes(std::span(part)));
    text_done() = static_cast<int64_t>(end);
    ids_done() += std::ssize(part);
    journal_.save_if_due(ids, options_.journal_seconds);
    options_.on_progress(progress());
  }
  journal_.save(ids);
}

// Splits the ids by data.tokens.val_share, which needs their total number.
void TokenConversion::write_shards() {
  result_.path = target_;
  result_.format = "tokens";
  result_.test = test_tokens(ids_done(), config_.data.tokens);
  result_.train = ids_done() - result_.test;
  if (result_.test < 1 || result_.train < 1)
    fail(Category::data,
         "data.tokens.val_share: {1} of {0} tokens would be for testing; add more text", ids_done(),
         result_.test);
  MappedFile file(partial_ / ids_name);
  std::span ids(reinterpret_cast<const int32_t*>(file.bytes().data()),
                static_cast<size_t>(ids_done()));
  auto train = static_cast<size_t>(result_.train);
  write_split("train", ids.first(train));
  write_split("val", ids.subspan(train));
  std::string vocabulary = text_.vocabulary->to_text() + "\n";
  write_file_atomically(partial_ / "vocabulary.txt", vocabulary, Category::data);
}

// Writes the shards of one split. Shards are written atomically, so existing ones are complete and
// are kept.
void TokenConversion::write_split(const std::string& split, std::span<const int32_t> ids) {
  auto max_ids = static_cast<size_t>(options_.shard_tokens);
  int64_t vocabulary = text_.vocabulary->size();
  for (int64_t number = 0; !ids.empty(); ++number) {
    std::span<const int32_t> part = ids.first(std::min(max_ids, ids.size()));
    fs::path path = partial_ / token_shard_name(split, number);
    if (!fs::exists(path)) {
      stop_if_asked(options_, progress());
      require_room(path, std::ssize(part) * (vocabulary <= 1 << 16 ? 2 : 4));
      write_token_shard(path, part, vocabulary);
    }
    result_.bytes += static_cast<int64_t>(fs::file_size(path));
    ids = ids.subspan(part.size());
  }
}

}  // namespace

ConvertResult convert_to_tokens(const RunConfig& config, const ConvertOptions& options) {
  return TokenConversion(config, options).run();
}

}  // namespace spire
