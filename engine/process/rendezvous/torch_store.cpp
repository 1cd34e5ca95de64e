#include "engine/process/rendezvous/torch_store.h"

#include <cstdint>
#include <cstring>

#include <spire/error.h>

namespace spire::inline process {
namespace {

// The first byte of each message of a client (QueryType of PyTorch's TCPStoreBackend.hpp). Numbers
// are in the byte order of the machine, as the store's are.
enum class Query : uint8_t { validate = 0, set = 1, get = 3, check = 5 };

constexpr uint32_t client_magic = 0x3C85F7CE;
constexpr uint8_t key_ready = 0, key_missing = 1;
constexpr uint64_t max_value_bytes = 64 << 10;  // far more than an endpoint has

class Message {
 public:
  explicit Message(Query query) : bytes_(1, static_cast<char>(query)) {}
  template <typename Number>
  Message& number(Number value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Message& text(const std::string& text) {
    number<uint64_t>(text.size());
    bytes_ += text;
    return *this;
  }
  void send(Socket& socket, Deadline deadline) const {
    socket.send_all(bytes_.data(), bytes_.size(), deadline);
  }

 private:
  std::string bytes_;
};

}  // namespace

TorchStore::TorchStore(const std::string& address, int port, Deadline deadline)
    : socket_(connect_to(address, port, deadline)) {
  Message(Query::validate).number(client_magic).send(socket_, deadline);
}

void TorchStore::set(const std::string& key, const std::string& value, Deadline deadline) {
  Message(Query::set).text(key).text(value).send(socket_, deadline);
  // The store does not acknowledge set(). Reading it back proves that it is a store and has it.
  auto kept = get(key, deadline);
  if (kept != value) fail(Category::collective, "the store does not keep what it is given");
}

std::optional<std::string> TorchStore::get(const std::string& key, Deadline deadline) {
  Message(Query::check).number<uint64_t>(1).text(key).send(socket_, deadline);
  uint8_t ready = key_missing;
  socket_.receive_all(&ready, sizeof ready, deadline);
  if (ready == key_missing) return {};
  if (ready != key_ready) fail(Category::collective, "what answers is no store of PyTorch");
  Message(Query::get).text(key).send(socket_, deadline);
  uint64_t length = 0;
  socket_.receive_all(&length, sizeof length, deadline);
  if (length > max_value_bytes) fail(Category::collective, "what answers is no store of PyTorch");
  std::string value(length, '\0');
  socket_.receive_all(value.data(), value.size(), deadline);
  return value;
}

}  // namespace spire::inline process
