#include "engine/data/text/packed_documents.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <spire/random_stream.h>

#include "engine/base/fail.h"
#include "engine/data/sampler.h"
#include "engine/data/validation.h"

namespace spire {
namespace {

constexpr int64_t ids_at_once = 1 << 18;  // of a search for separators
constexpr uint64_t documents_stream = 1;  // of Purpose::window; 0: offsets of windows

}  // namespace

TokenDocuments find_documents(const TokenSequence& sequence, int32_t separator) {
  TokenDocuments documents;
  bool found = false;
  std::vector<int32_t> ids;
  for (int64_t first = 0; first < sequence.count(); first += ids_at_once) {
    ids.resize(static_cast<size_t>(std::min(ids_at_once, sequence.count() - first)));
    sequence.read(first, ids);
    for (int64_t i = 0; i < std::ssize(ids); ++i) {
      bool begins = ids[static_cast<size_t>(i)] == separator;
      found = found || begins;
      if (begins || first + i == 0) documents.push_back({first + i, 0});
    }
  }
  if (!found)
    fail(Category::data,
         "data.tokens.documents: packed needs documents, but no token {}, which begins one, is in "
         "{}; convert JSONL files, or use joined",
         separator, sequence.files().empty() ? "the tokens" : sequence.files().front().string());
  int64_t end = sequence.count();
  for (size_t i = documents.size(); i-- > 0;) {
    documents[i].length = end - documents[i].begin;
    end = documents[i].begin;
  }
  return documents;
}

TokenDocuments take_last_documents(TokenDocuments& documents, int64_t begin) {
  if (documents.size() < 2)
    fail(Category::data,
         "data.tokens.documents: packed: there is one document, but training and evaluation need "
         "one each; add documents, or use joined");
  auto first = std::ranges::lower_bound(documents, begin, {}, &TokenDocument::begin);
  first = std::clamp(first, documents.begin() + 1, documents.end() - 1);
  TokenDocuments last(first, documents.end());
  documents.erase(first, documents.end());
  return last;
}

TokenDocuments hold_out_documents(TokenDocuments& documents, double share) {
  std::vector<bool> marks = held_out_of(std::ssize(documents), share, 0);
  auto asked = std::ranges::count(marks, true);
  if (asked == 0 || asked == std::ssize(documents))
    fail(
        Category::config,
        "data.val.share: {} of {} documents for training leaves none for {}; use another share, or "
        "more documents",
        share, documents.size(), asked == 0 ? "validation" : "training");
  TokenDocuments held_out, kept;
  for (size_t i = 0; i < documents.size(); ++i)
    (marks[i] ? held_out : kept).push_back(documents[i]);
  documents = std::move(kept);
  return held_out;
}

std::optional<int64_t> misplaced_token(std::span<const int32_t> positions) {
  for (size_t t = 0; t < positions.size(); ++t)
    if (positions[t] != 0 && (t == 0 || positions[t] != positions[t - 1] + 1))
      return static_cast<int64_t>(t);
  return {};
}

PackedDocuments::PackedDocuments(std::shared_ptr<const TokenSequence> sequence,
                                 TokenDocuments documents, int64_t length, Order order,
                                 uint64_t seed, const std::string& vocabulary,
                                 int64_t vocabulary_size)
    : sequence_(std::move(sequence)),
      documents_(std::move(documents)),
      length_(length),
      order_(order),
      seed_(seed) {
  int64_t tokens = 0;
  for (const TokenDocument& document : documents_) tokens += document.length;
  count_ = (tokens - 1) / length;
  if (count_ < 1)
    fail(Category::data,
         "data.tokens.length: {} needs {} tokens, but the documents for {} have {}; lower it, or "
         "add more documents",
         length, length + 1, order == Order::by_epoch ? "training" : "evaluation", tokens);
  spec_.columns = {{"tokens", {length}, DType::i32},
                   {"targets", {length}, DType::i32},
                   {"positions", {length}, DType::i32}};
  spec_.classes = vocabulary_size;
  spec_.vocabulary = vocabulary;
}

PackedDocuments::EpochOrder PackedDocuments::make_order(int64_t epoch) const {
  EpochOrder order{.epoch = epoch, .documents = {}, .begins = {}};
  int64_t count = std::ssize(documents_), at = 0;
  RandomStream stream(seed_, Purpose::window, static_cast<uint64_t>(epoch), documents_stream);
  for (int64_t i = 0; i < count; ++i) {
    int64_t document = order_ == Order::by_epoch ? permuted(stream, count, i) : i;
    order.documents.push_back(document);
    order.begins.push_back(at);
    at += documents_[static_cast<size_t>(document)].length;
  }
  return order;
}

std::shared_ptr<const PackedDocuments::EpochOrder> PackedDocuments::order_of(int64_t epoch) const {
  if (order_ == Order::stored) epoch = 0;
  std::lock_guard lock(mutex_);
  auto& order = orders_[static_cast<size_t>(epoch % 2)];
  if (!order || order->epoch != epoch) order = std::make_shared<EpochOrder>(make_order(epoch));
  return order;
}

// Reads tokens from `first` on, of the epoch's order, over as many documents as they span.
void PackedDocuments::read_row(const EpochOrder& order, int64_t first, std::span<int32_t> tokens,
                               std::span<int32_t> positions) const {
  auto end = std::ranges::upper_bound(order.begins, first);
  for (auto at = static_cast<size_t>(end - order.begins.begin()) - 1; !tokens.empty(); ++at) {
    const TokenDocument& document = documents_[static_cast<size_t>(order.documents[at])];
    int64_t within = first - order.begins[at];
    auto count =
        static_cast<size_t>(std::min<int64_t>(document.length - within, std::ssize(tokens)));
    sequence_->read(document.begin + within, tokens.first(count));
    tokens = tokens.subspan(count);
    first += static_cast<int64_t>(count);
    if (positions.empty()) continue;
    std::iota(positions.begin(), positions.begin() + static_cast<std::ptrdiff_t>(count), 0);
    positions = positions.subspan(count);
  }
}

void PackedDocuments::read(std::span<const int64_t> samples, int64_t epoch,
                           std::span<std::byte* const> columns) const {
  auto order = order_of(epoch);
  auto length = static_cast<size_t>(length_);
  for (size_t row = 0; row < samples.size(); ++row) {
    auto part = [&](size_t column) {
      return std::span(reinterpret_cast<int32_t*>(columns[column]) + row * length, length);
    };
    std::span<int32_t> tokens = part(0), targets = part(1);
    int64_t first = samples[row] * length_;
    read_row(*order, first, tokens, part(2));
    std::ranges::copy(tokens.subspan(1), targets.begin());
    read_row(*order, first + length_, targets.last(1), {});
  }
}

}  // namespace spire
