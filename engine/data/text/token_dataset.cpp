#include "engine/data/text/token_dataset.h"

#include <algorithm>
#include <utility>

#include <spire/error.h>

#include "engine/base/philox.h"
#include "engine/data/input_file.h"
#include "engine/data/text/text_tokens.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;

constexpr const char* vocabulary_file = "vocabulary.txt";

// Windows that fit whatever the offset is.
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

// What the shards' ids mean, as text; empty: nobody says.
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

TokenDataset::Offset training_offset(const ReadOptions& options) {
  return options.stored ? TokenDataset::Offset::none : TokenDataset::Offset::by_epoch;
}

DatasetPair open_shards(const DataConfig& config, const ReadOptions& options) {
  if (config.path == "auto")
    fail(Category::config,
         "data.path: auto does not work for data.name: tokens; set data.path to the folder of the "
         "shards, or data.tokens.text to text files");
  std::vector<TokenShard> train = open_token_shards(config.path, "train");
  std::vector<TokenShard> test = open_token_shards(config.path, "val");
  int64_t size = train[0].vocabulary();
  if (test[0].vocabulary() != size)
    fail(Category::data, "{}: has a vocabulary of {}, but {} has {}; use shards of one set",
         test[0].path().string(), test[0].vocabulary(), train[0].path().string(), size);
  std::string vocabulary = vocabulary_of_shards(config.path, config);
  check_vocabulary(vocabulary, train[0]);
  auto dataset = [&](std::vector<TokenShard>& shards, TokenDataset::Offset offset) {
    return std::make_unique<TokenDataset>(sequence_of(std::move(shards)), config.tokens.length,
                                          offset, options.seed, vocabulary, size);
  };
  return {dataset(train, training_offset(options)), dataset(test, TokenDataset::Offset::none)};
}

DatasetPair open_text(const DataConfig& config, const ReadOptions& options) {
  TextTokens text = read_text_tokens(config.tokens);
  int64_t size = text.vocabulary->size();
  auto test_count = static_cast<size_t>(test_tokens(std::ssize(text.ids), config.tokens));
  std::span<const int32_t> ids = text.ids;
  auto dataset = [&](std::span<const int32_t> part, TokenDataset::Offset offset) {
    return std::make_unique<TokenDataset>(sequence_of(part, size, text.files), config.tokens.length,
                                          offset, options.seed, text.vocabulary->to_text(), size);
  };
  return {dataset(ids.first(ids.size() - test_count), training_offset(options)),
          dataset(ids.last(test_count), TokenDataset::Offset::none)};
}

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
    // The last target is read with the row's tokens where the next row's place is there for it.
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

}  // namespace spire::inline data
