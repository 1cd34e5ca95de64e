#include "engine/process/rendezvous/master_endpoint.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/process/json_fields.h"
#include "engine/process/rendezvous/handshake.h"

namespace spire {
namespace {

// The first byte of each message of a client (QueryType of PyTorch's TCPStoreBackend.hpp).
constexpr char query_validate = 0, query_set = 1, query_get = 3, query_check = 5;

constexpr uint32_t client_magic = 0x3C85F7CE;
constexpr uint8_t key_ready = 0, key_missing = 1;
constexpr uint64_t max_value_bytes = 64 << 10;  // far more than an endpoint has

// A text on the wire: its length in the byte order of the machine, as the store's are, and itself.
std::string sized(const std::string& text) {
  return bytes_of(uint64_t{text.size()}) + text;
}

TorchStore store_of(const Launch& launch, Deadline deadline) {
  return {launch.master_address, launch.master_port, deadline};
}

// The store also carries a random secret unless the environment has one: whoever can read
// torchrun's store could join in any case.
MasterListener publish_in_store(const Launch& launch, Deadline deadline) {
  TorchStore store = store_of(launch, deadline);
  Interface interface = launch.one_host ? loopback_interface() : interface_of(store.connection());
  Listener listener(0, interface.address);
  std::string made = launch.secret.empty() ? random_secret() : "";
  store.set(launch.store_key, to_json({interface.advertised, listener.port(), made}), deadline);
  return {std::move(interface), std::move(listener), made.empty() ? launch.secret : made};
}

MasterEndpoint find_in_store(const Launch& launch, Deadline deadline) {
  auto text = store_of(launch, deadline).get(launch.store_key, deadline);
  if (!text) fail(Category::collective, "rank 0 has not yet said there where it listens");
  auto endpoint = read_endpoint(*text);
  if (!endpoint) fail(Category::collective, "its entry for rank 0 cannot be understood");
  if (!launch.secret.empty()) endpoint->secret = launch.secret;
  return *endpoint;
}

}  // namespace

Interface loopback_interface() {
  return {loopback_address, {loopback_address}};
}

Interface all_interfaces() {
  return {"", own_addresses()};
}

bool names_this_machine(const std::string& name) {
  return name == "localhost" || is_loopback(name);
}

Interface interface_named(const std::string& name) {
  auto address = resolve_address(name);
  if (!address) return all_interfaces();
  // A host name that resolves to loopback here, as Debian writes it in /etc/hosts, may resolve to a
  // network address elsewhere.
  if (is_loopback(*address))
    return names_this_machine(name) ? Interface{*address, {*address}} : all_interfaces();
  // A name that is not this machine's belongs to a service, or is translated on the way.
  auto own = own_addresses();
  if (std::ranges::find(own, *address) == own.end()) return all_interfaces();
  return {*address, {*address}};
}

Interface interface_of(const Socket& connection) {
  std::string address = connection.own_address();
  if (address.empty() || is_loopback(address)) return all_interfaces();
  return {address, {address}};
}

// The boot names the kernel, the link the network namespace: together they have one loopback.
std::string loopback_identity() try {
  auto boot = read_stream("/proc/sys/kernel/random/boot_id", Category::device);
  auto space = std::filesystem::read_symlink("/proc/self/ns/net").string();
  return boot.substr(0, boot.find('\n')) + " " + space;
} catch (const std::exception&) {
  return {};
}

std::string endpoints_text(const std::vector<std::string>& addresses, int port) {
  std::vector<std::string> list;
  for (const std::string& address : addresses) list.push_back(fmt::format("{}:{}", address, port));
  return fmt::format("{}", fmt::join(list, ", "));
}

std::string to_json(const MasterEndpoint& endpoint) {
  return to_message(
      {{"addresses", endpoint.addresses}, {"port", endpoint.port}, {"secret", endpoint.secret}});
}

// Anybody who reaches the store can write to it: addresses are shown in messages, and must not hold
// control characters.
std::optional<MasterEndpoint> read_endpoint(const std::string& json) try {
  auto object = parse_message(json);
  JsonFields fields(object, 3);
  MasterEndpoint endpoint{fields.texts("addresses"), fields.integer("port"), fields.text("secret")};
  bool numeric = std::ranges::all_of(endpoint.addresses, [](const std::string& address) {
    return !address.empty() && address.find_first_not_of("0123456789.") == std::string::npos;
  });
  bool fits =
      numeric && !endpoint.addresses.empty() && endpoint.port >= 1 && endpoint.port <= 65535;
  return fits ? std::optional(endpoint) : std::nullopt;
} catch (const Error&) {
  return {};
}

MasterListener listen_as_master(const Launch& launch, Deadline deadline) {
  if (!launch.store_key.empty()) return publish_in_store(launch, deadline);
  Interface interface = interface_named(launch.master_address);
  Listener listener(launch.master_port, interface.address);
  return {std::move(interface), std::move(listener), launch.secret};
}

MasterEndpoint find_master(const Launch& launch, Deadline deadline) {
  if (!launch.store_key.empty()) return find_in_store(launch, deadline);
  return {{launch.master_address}, launch.master_port, launch.secret};
}

std::string master_name(const Launch& launch) {
  return fmt::format("{}{}:{}", launch.store_key.empty() ? "" : "torchrun's store at ",
                     launch.master_address, launch.master_port);
}

TorchStore::TorchStore(const std::string& address, int port, Deadline deadline)
    : socket_(connect_to(address, port, deadline)) {
  send(query_validate, bytes_of(client_magic), deadline);
}

void TorchStore::send(char query, const std::string& arguments, Deadline deadline) {
  std::string message = query + arguments;
  socket_.send_all(message.data(), message.size(), deadline);
}

void TorchStore::set(const std::string& key, const std::string& value, Deadline deadline) {
  send(query_set, sized(key) + sized(value), deadline);
  // The store does not acknowledge set(). Reading it back proves that it is a store and has it.
  auto kept = get(key, deadline);
  if (kept != value) fail(Category::collective, "the store does not keep what it is given");
}

std::optional<std::string> TorchStore::get(const std::string& key, Deadline deadline) {
  send(query_check, bytes_of(uint64_t{1}) + sized(key), deadline);  // one key
  uint8_t ready = key_missing;
  socket_.receive_all(&ready, sizeof ready, deadline);
  if (ready == key_missing) return {};
  if (ready != key_ready) fail(Category::collective, "what answers is no store of PyTorch");
  send(query_get, sized(key), deadline);
  uint64_t length = 0;
  socket_.receive_all(&length, sizeof length, deadline);
  if (length > max_value_bytes) fail(Category::collective, "what answers is no store of PyTorch");
  std::string value(length, '\0');
  socket_.receive_all(value.data(), value.size(), deadline);
  return value;
}

}  // namespace spire
