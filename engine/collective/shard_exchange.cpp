#include "engine/collective/shard_exchange.h"

namespace spire::inline collective {

ShardExchange::ShardExchange(std::vector<std::vector<FloatRange>> slices, Communicator* exchange,
                             size_t element_bytes)
    : slices_(std::move(slices)),
      exchange_(exchange && exchange->size() > 1 ? exchange : nullptr),
      element_bytes_(element_bytes) {}

// Adds this rank's part of a transfer: rank `from` sends the slices of `owner` to rank `to`.
void ShardExchange::add(void* buffer, int owner, int from, int to, FloatRange window) {
  int self = exchange_->rank();
  if (from == to || (self != from && self != to)) return;
  for (FloatRange slice : slices_[static_cast<size_t>(owner)]) {
    FloatRange range = common(slice, window);
    if (range.size() <= 0) continue;
    auto bytes = static_cast<size_t>(range.size()) * element_bytes_;
    auto* data = static_cast<std::byte*>(buffer) +
                 static_cast<size_t>(range.begin - window.begin) * element_bytes_;
    if (self == from) sends_.push_back({to, data, bytes});
    if (self == to) receives_.push_back({from, data, bytes});
  }
}

void ShardExchange::run(Stream& stream) {
  exchange_->exchange(sends_, receives_, stream);
  sends_.clear();
  receives_.clear();
}

void ShardExchange::all_gather(void* buffer, Stream& stream) {
  if (!exchange_) return;
  for (int from = 0; from < exchange_->size(); ++from) {
    for (int to = 0; to < exchange_->size(); ++to) add(buffer, from, from, to);
  }
  run(stream);
}

void ShardExchange::gather(void* buffer, Stream& stream, FloatRange window) {
  if (!exchange_) return;
  for (int from = 1; from < exchange_->size(); ++from) add(buffer, from, from, 0, window);
  run(stream);
}

void ShardExchange::broadcast(void* buffer, Stream& stream, int root, FloatRange window) {
  if (!exchange_) return;
  for (int to = 0; to < exchange_->size(); ++to) add(buffer, to, root, to, window);
  run(stream);
  for (int from = 0; from < exchange_->size(); ++from) {
    for (int to = 0; to < exchange_->size(); ++to) {
      if (to != root) add(buffer, from, from, to, window);
    }
  }
  run(stream);
}

}  // namespace spire::inline collective
