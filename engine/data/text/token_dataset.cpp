#include "engine/data/text/token_dataset.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <spire/random_stream.h>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/data/input_file.h"
#include "engine/data/part_names.h"
#include "engine/data/text/packed_documents.h"
#include "engine/data/text/text_tokens.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr const char* vocabulary_file = "vocabulary.txt";

// Returns how many windows fit at every offset.
int64_t count_windows(int64_t tokens, int64_t length, TokenDataset::Offset offset) {
  bool moves = offset == TokenDataset::Offset::by_epoch;
  int64_t count = moves ? tokens / length - 1 : (tokens - 1) / length;
  if (count < 1)
    fail(Category::data,
         "data.tokens.length: {} needs {} tokens, but there are {} for the {}; lower it, or add "
         "more text",
         length, moves ? 2 * length : length + 1, tokens, moves ? "training" : "test");
  return count;
}

// Returns the text of the shards' vocabulary (make_vocabulary); empty where neither the config nor
// a file names one.
std::string vocabulary_of_shards(const fs::path& folder, const DataConfig& config) {
  using Vocabulary = TokensConfig::Vocabulary;
  Vocabulary asked = config.tokens.vocabulary;
  if (asked == Vocabulary::bytes) return "bytes";
  if (asked == Vocabulary::gpt2) return "gpt2:" + find_bpe(config.tokens.bpe_path).string();
  fs::path file = find_input(folder / vocabulary_file);
  if (!file.empty()) {
    std::string text = InputFile(file).read_text(max_vocabulary_text);
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    return text;
  }
  if (asked == Vocabulary::characters)
    fail(Category::config,
         "data.tokens.vocabulary: characters needs {1} in {0}, which tells the characters of the "
         "ids in its shards; add it or change data.tokens.vocabulary",
         folder.string(), vocabulary_file);
  return "";
}

// Throws where the vocabulary has more tokens than the shards have ids.
void check_vocabulary(const std::string& text, const TokenShard& shard) {
  if (text.empty()) return;
  int64_t size = 0;
  try {
    size = make_vocabulary(text)->size();
  } catch (const Error& error) {
    fail(error.category(), "vocabulary of {}: {}", shard.path().string(), error.what());
  }
  if (size > shard.vocabulary())
    fail(Category::data, "{}: its ids belong to a vocabulary of {}, but {} has {} tokens; {}",
         shard.path().string(), shard.vocabulary(), text.substr(0, text.find(':')), size,
         "correct data.tokens.vocabulary or vocabulary.txt");
}

// Returns the offset of training windows. They move each epoch, so that a token is not always at
// the same position of its window; a stored copy of the data keeps them in place.
TokenDataset::Offset training_offset(const ReadOptions& options) {
  return options.as_stored || options.as_evaluation ? TokenDataset::Offset::none
                                                    : TokenDataset::Offset::by_epoch;
}

bool packs(const DataConfig& config) {
  return config.tokens.documents == TokensConfig::Documents::packed;
}

// The token that begins a document.
int32_t separator_of(const std::string& vocabulary) {
  if (vocabulary.empty())
    fail(Category::config,
         "data.tokens.documents: packed needs a vocabulary, which tells the token between "
         "documents; "
         "set data.tokens.vocabulary, or use joined");
  bool gpt2 = vocabulary.starts_with("gpt2:");
  using Vocabulary = TokensConfig::Vocabulary;
  std::string_view separator = document_separator(gpt2 ? Vocabulary::gpt2 : Vocabulary::bytes);
  std::vector<int32_t> ids;
  try {
    ids = make_vocabulary(vocabulary)->encode(separator);
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;
  }
  if (ids.size() != 1)
    fail(Category::data,
         "data.tokens.documents: packed needs a vocabulary with the token {} between documents; "
         "convert JSONL files, or use joined",
         gpt2 ? separator : "U+0003");
  return ids[0];
}

struct PartOfDocuments {
  std::shared_ptr<const TokenSequence> sequence;
  TokenDocuments documents;
};

// Packs documents, those of training in a new order each epoch. Validation data are documents, as
// rows have other ones in each epoch. size: of the vocabulary.
DatasetPair pack_documents(const DataConfig& config, const ReadOptions& options,
                           const std::string& vocabulary, int64_t size, PartOfDocuments train,
                           PartOfDocuments test, std::optional<PartOfDocuments> val = {}) {
  using Order = PackedDocuments::Order;
  auto dataset = [&](const PartOfDocuments& part, TokenDocuments documents, Order order) {
    return std::make_unique<PackedDocuments>(part.sequence, std::move(documents),
                                             config.tokens.length, order, options.seed, vocabulary,
                                             size);
  };
  DatasetPair data;
  if (config.val.share > 0)
    data.val = dataset(train, hold_out_documents(train.documents, config.val.share), Order::stored);
  if (val) data.val = dataset(*val, std::move(val->documents), Order::stored);
  bool stored = options.as_stored || options.as_evaluation;
  data.train = dataset(train, std::move(train.documents), stored ? Order::stored : Order::by_epoch);
  data.test = dataset(test, std::move(test.documents), Order::stored);
  return data;
}

// Returns which shards are read for testing and validation; those for validation always lie there.
PartNames parts_of_shards(const DataConfig& config) {
  std::vector<std::string> names = {"train", "val"};
  if (is_there(fs::path(config.path) / token_shard_name("test", 0))) names.emplace_back("test");
  return choose_parts(config.path, names, config.val);
}

DatasetPair open_shards(const DataConfig& config, const ReadOptions& options) {
  std::vector<TokenShard> train = open_token_shards(config.path, "train");
  PartNames parts = parts_of_shards(config);
  std::vector<TokenShard> test = open_token_shards(config.path, parts.test), val;
  if (!parts.val.empty()) val = open_token_shards(config.path, parts.val);
  int64_t size = train[0].vocabulary();
  for (const auto* part : {&test, &val})
    if (!part->empty() && part->front().vocabulary() != size)
      fail(Category::data, "{}: has a vocabulary of {}, but {} has {}; use shards of one set",
           part->front().path().string(), part->front().vocabulary(), train[0].path().string(),
           size);
  std::string vocabulary = vocabulary_of_shards(config.path, config);
  check_vocabulary(vocabulary, train[0]);
  DatasetPair data;
  if (packs(config)) {
    auto part = [&, separator = separator_of(vocabulary)](std::vector<TokenShard>& shards) {
      std::shared_ptr<const TokenSequence> sequence = sequence_of(std::move(shards));
      return PartOfDocuments{sequence, find_documents(*sequence, separator)};
    };
    PartOfDocuments first = part(train), second = part(test);
    std::optional<PartOfDocuments> third;
    if (!val.empty()) third = part(val);
    data = pack_documents(config, options, vocabulary, size, std::move(first), std::move(second),
                          std::move(third));
  } else {
    auto dataset = [&](std::vector<TokenShard>& shards, TokenDataset::Offset offset) {
      return std::make_unique<TokenDataset>(sequence_of(std::move(shards)), config.tokens.length,
                                            offset, options.seed, vocabulary, size);
    };
    data.train = dataset(train, training_offset(options));
    data.test = dataset(test, TokenDataset::Offset::none);
    if (!val.empty()) data.val = dataset(val, TokenDataset::Offset::none);
  }
  data.notes = std::move(parts.notes);
  return data;
}

// A note where files that are read as one text are called training and test data.
std::vector<std::string> note_parts(const std::vector<fs::path>& files,
                                    const TokensConfig& config) {
  std::vector<std::string> names;
  for (const fs::path& file : files) names.push_back(file.filename().string());
  PartNames parts = choose_parts("", names, {}, part_word);
  if (parts.train.empty() || parts.test.empty()) return {};
  return {
      fmt::format("{}, {}: read as one text, whose last {} is the test data; leave the files "
                  "that are not for training out of data.tokens.text, and set data.val.path to "
                  "those for validation",
                  printable(parts.train), printable(parts.test), config.val_share)};
}

DatasetPair open_text(const DataConfig& config, const ReadOptions& options) {
  bool known = options.trained_classes && !options.trained->vocabulary.empty();
  TextTokens text =
      known ? read_known_tokens(config.tokens, config.on_error, options.trained->vocabulary)
            : read_text_tokens(config.tokens, config.on_error);
  std::vector<std::string> notes = note_parts(text.files, config.tokens);
  bool of_text = std::ranges::find(config.tokens.text, config.path) != config.tokens.text.end();
  if (config.path != "auto" && !of_text &&
      !options.trained_classes)  // that of validation data is set
    notes.push_back(fmt::format(
        "data.path: {} is not read, as data.tokens.text names the text; leave one of the two out",
        config.path));
  if (text.skipped > 0)
    notes.push_back(fmt::format("{} left out; the first: {}",
                                counted(text.skipped, "broken document"), text.first_problem));
  if (text.unknown > 0)
    notes.push_back(fmt::format("{}: {} left out, as the training data's vocabulary lacks them",
                                fmt::join(config.tokens.text, ", "),
                                counted(text.unknown, "character")));
  int64_t size = text.vocabulary->size();
  std::span<const int32_t> ids = text.ids;
  auto test_count = options.all_test
                        ? ids.size()
                        : static_cast<size_t>(test_tokens(std::ssize(ids), config.tokens));
  if (options.all_test)
    notes.push_back(all_test_note(fmt::format("{}", fmt::join(config.tokens.text, ", ")),
                                  counted(std::ssize(ids), "token"), "data.tokens.val_share"));
  if (packs(config)) {
    std::string vocabulary = text.vocabulary->to_text();
    std::shared_ptr<const TokenSequence> all = sequence_of(ids, size, text.files);
    TokenDocuments documents = find_documents(*all, separator_of(vocabulary));
    TokenDocuments last =
        options.all_test
            ? documents
            : take_last_documents(documents, all->count() - static_cast<int64_t>(test_count));
    DatasetPair packed = pack_documents(config, options, vocabulary, size,
                                        {all, std::move(documents)}, {all, std::move(last)});
    packed.notes = std::move(notes);
    return packed;
  }
  auto dataset = [&](std::span<const int32_t> part, TokenDataset::Offset offset) {
    return std::make_unique<TokenDataset>(sequence_of(part, size, text.files), config.tokens.length,
                                          offset, options.seed, text.vocabulary->to_text(), size);
  };
  size_t trained = options.all_test ? ids.size() : ids.size() - test_count;
  return {dataset(ids.first(trained), training_offset(options)),
          dataset(ids.last(test_count), TokenDataset::Offset::none), std::move(notes)};
}

// A sequence of shards, one after another.
class ShardSequence : public TokenSequence {
 public:
  explicit ShardSequence(std::vector<TokenShard> shards) : shards_(std::move(shards)) {
    int64_t end = 0;
    for (const TokenShard& shard : shards_) ends_.push_back(end += shard.count());
  }

  int64_t count() const override { return ends_.empty() ? 0 : ends_.back(); }

  void verify() const override {
    for (const TokenShard& shard : shards_) shard.verify();
  }

  std::vector<std::string> layout() const override {
    std::vector<std::string> lines;
    for (const TokenShard& shard : shards_)
      lines.push_back(fmt::format("{}: {} tokens of {} bytes", shard.path().filename().string(),
                                  shard.count(), shard.element_bytes()));
    return lines;
  }

  std::vector<std::filesystem::path> files() const override {
    std::vector<std::filesystem::path> paths;
    for (const TokenShard& shard : shards_) paths.push_back(shard.path());
    return paths;
  }

  void read(int64_t first, std::span<int32_t> out) const override {
    auto end = std::ranges::upper_bound(ends_, first);  // the shard that holds `first`
    for (; !out.empty(); ++end) {
      require(end != ends_.end(), "tokens up to {} of {}", first + std::ssize(out), count());
      const TokenShard& shard = shards_[static_cast<size_t>(end - ends_.begin())];
      int64_t part = std::min<int64_t>(*end - first, std::ssize(out));
      shard.read(shard.count() - (*end - first), out.first(static_cast<size_t>(part)));
      out = out.subspan(static_cast<size_t>(part));
      first += part;
    }
  }

 private:
  std::vector<TokenShard> shards_;
  std::vector<int64_t> ends_;  // of each shard: the position behind its last token
};

// Ids in memory, stored as T.
template <typename T>
class MemorySequence : public TokenSequence {
 public:
  MemorySequence(std::span<const int32_t> ids, std::vector<std::filesystem::path> files)
      : files_(std::move(files)) {
    ids_.reserve(ids.size());
    for (int32_t id : ids) ids_.push_back(static_cast<T>(id));
  }

  int64_t count() const override { return std::ssize(ids_); }
  std::vector<std::filesystem::path> files() const override { return files_; }

  void read(int64_t first, std::span<int32_t> out) const override {
    require(first >= 0 && first + std::ssize(out) <= count(), "tokens {} to {} of {}", first,
            first + std::ssize(out), count());
    std::copy_n(ids_.begin() + first, out.size(), out.begin());
  }

 private:
  std::vector<T> ids_;
  std::vector<std::filesystem::path> files_;
};

}  // namespace

TokenDataset::TokenDataset(std::unique_ptr<TokenSequence> sequence, int64_t length, Offset offset,
                           uint64_t seed, const std::string& vocabulary, int64_t vocabulary_size)
    : sequence_(std::move(sequence)),
      length_(length),
      count_(count_windows(sequence_->count(), length, offset)),
      offset_(offset),
      seed_(seed) {
  spec_.columns = {{"tokens", {length}, DType::i32}, {"targets", {length}, DType::i32}};
  spec_.classes = vocabulary_size;
  spec_.vocabulary = vocabulary;
}

int64_t TokenDataset::offset(int64_t epoch) const {
  if (offset_ == Offset::none) return 0;
  RandomStream draw(seed_, Purpose::window, static_cast<uint64_t>(epoch));
  return draw.below(0, static_cast<uint32_t>(length_));
}

void TokenDataset::read(std::span<const int64_t> samples, int64_t epoch,
                        std::span<std::byte* const> columns) const {
  auto* tokens = reinterpret_cast<int32_t*>(columns[0]);
  auto* targets = reinterpret_cast<int32_t*>(columns[1]);
  auto length = static_cast<size_t>(length_);
  int64_t shift = offset(epoch);
  for (size_t row = 0; row < samples.size(); ++row) {
    int64_t first = shift + samples[row] * length_;
    // One read of T + 1 ids gives tokens and targets. The extra id lands in the next row, which is
    // written afterwards; the last row has none after it, so its last target is read separately.
    size_t with_last = row + 1 < samples.size() ? 1 : 0;
    sequence_->read(first, {tokens, length + with_last});
    std::copy_n(tokens + 1, length - 1 + with_last, targets);
    if (with_last == 0) sequence_->read(first + length_, {targets + length - 1, 1});
    tokens += length;
    targets += length;
  }
}

DatasetPair open_tokens(const DataConfig& config, const ReadOptions& options) {
  return config.tokens.text.empty() ? open_shards(config, options) : open_text(config, options);
}

std::unique_ptr<TokenSequence> sequence_of(std::vector<TokenShard> shards) {
  return std::make_unique<ShardSequence>(std::move(shards));
}

std::unique_ptr<TokenSequence> sequence_of(std::span<const int32_t> ids, int64_t vocabulary,
                                           std::vector<std::filesystem::path> files) {
  if (vocabulary <= int64_t{1} << 16)
    return std::make_unique<MemorySequence<uint16_t>>(ids, std::move(files));
  return std::make_unique<MemorySequence<int32_t>>(ids, std::move(files));
}

}  // namespace spire
