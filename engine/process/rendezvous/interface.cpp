#include "engine/process/rendezvous/interface.h"

#include <algorithm>
#include <filesystem>

#include <spire/error.h>

#include "engine/base/read_file.h"

namespace spire::inline process {

Interface loopback_interface() {
  return {kLoopback, {kLoopback}};
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

}  // namespace spire::inline process
