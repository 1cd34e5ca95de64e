#include "engine/process/rendezvous/master_endpoint.h"

#include <algorithm>
#include <filesystem>

#include <spire/error.h>

#include "engine/base/read_file.h"
#include "engine/process/json_fields.h"
#include "engine/process/rendezvous/handshake.h"
#include "engine/process/rendezvous/torch_store.h"

namespace spire::inline process {
namespace {

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
  // A host name that resolves to loopback here may resolve to a network address elsewhere.
  if (is_loopback(*address))
    return names_this_machine(name) ? Interface{*address, {*address}} : all_interfaces();
  auto own = own_addresses();
  if (std::ranges::find(own, *address) == own.end()) return all_interfaces();
  return {*address, {*address}};
}

Interface interface_of(const Socket& connection) {
  std::string address = connection.own_address();
  if (address.empty() || is_loopback(address)) return all_interfaces();
  return {address, {address}};
}

std::string loopback_identity() try {
  auto boot = read_stream("/proc/sys/kernel/random/boot_id", Category::device);
  auto space = std::filesystem::read_symlink("/proc/self/ns/net").string();
  return boot.substr(0, boot.find('\n')) + " " + space;
} catch (const std::exception&) {
  return {};
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

}  // namespace spire::inline process
