#include "engine/process/rendezvous/meeting_place.h"

#include <sstream>

#include <spire/error.h>

#include "engine/process/rendezvous/secret.h"
#include "engine/process/rendezvous/torch_store.h"

namespace spire::inline process {
namespace {

TorchStore store_of(const Launch& launch, Deadline deadline) {
  return {launch.master_address, launch.master_port, deadline};
}

// Through the store comes also the secret, unless the environment has brought one: whoever reads
// torchrun's store could join in any case.
OpenPlace open_by_store(const Launch& launch, Deadline deadline) {
  TorchStore store = store_of(launch, deadline);
  Interface interface = launch.one_host ? loopback_interface() : interface_of(store.connection());
  Listener listener(0, interface.address);
  std::string made = launch.secret.empty() ? random_secret() : "";
  store.set(launch.store_key, to_text({interface.told, listener.port(), made}), deadline);
  return {std::move(interface), std::move(listener), made.empty() ? launch.secret : made};
}

MeetingPlace find_in_store(const Launch& launch, Deadline deadline) {
  auto text = store_of(launch, deadline).get(launch.store_key, deadline);
  if (!text) fail(Category::collective, "rank 0 has not yet said there where it listens");
  auto place = read_place(*text);
  if (!place) fail(Category::collective, "its entry for rank 0 cannot be understood");
  if (!launch.secret.empty()) place->secret = launch.secret;
  return *place;
}

}  // namespace

// "1": the form of the line.
std::string to_text(const MeetingPlace& place) {
  return fmt::format("1 {} {} {}", place.port, place.secret.empty() ? "-" : place.secret,
                     fmt::join(place.addresses, " "));
}

std::optional<MeetingPlace> read_place(const std::string& text) {
  MeetingPlace place;
  int form = 0;
  std::istringstream words(text);
  words >> form >> place.port >> place.secret;
  if (!words || form != 1 || place.port < 1 || place.port > 65535) return {};
  if (place.secret == "-") place.secret.clear();
  for (std::string address; words >> address;) {
    if (address.find_first_not_of("0123456789.") != std::string::npos) return {};
    place.addresses.push_back(address);
  }
  if (place.addresses.empty()) return {};
  return place;
}

OpenPlace open_place(const Launch& launch, Deadline deadline) {
  if (!launch.store_key.empty()) return open_by_store(launch, deadline);
  Interface interface = interface_named(launch.master_address);
  Listener listener(launch.master_port, interface.address);
  return {std::move(interface), std::move(listener), launch.secret};
}

MeetingPlace find_place(const Launch& launch, Deadline deadline) {
  if (!launch.store_key.empty()) return find_in_store(launch, deadline);
  return {{launch.master_address}, launch.master_port, launch.secret};
}

std::string described_place(const Launch& launch) {
  return fmt::format("{}{}:{}", launch.store_key.empty() ? "" : "torchrun's store at ",
                     launch.master_address, launch.master_port);
}

}  // namespace spire::inline process
