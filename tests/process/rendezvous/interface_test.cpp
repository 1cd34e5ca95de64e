#include "engine/process/rendezvous/interface.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

namespace spire {
namespace {

Deadline soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}

TEST(Interface, AnAddressOfThisMachineIsTheOnlyOne) {
  EXPECT_EQ(interface_named("localhost").address, "127.0.0.1");
  EXPECT_EQ(interface_named("127.0.0.7").address, "127.0.0.7");
  for (const std::string& own : own_addresses()) {
    EXPECT_EQ(interface_named(own).address, own);
    EXPECT_EQ(interface_named(own).told, std::vector<std::string>{own});
  }
}

TEST(Interface, AnAddressOfSomebodyElseMeansAll) {
  for (const char* name : {"192.0.2.1", "no-such-host.invalid"}) {
    EXPECT_EQ(interface_named(name).address, "");
    EXPECT_EQ(interface_named(name).told, own_addresses());
  }
}

TEST(Interface, OnlyLocalhostAndLoopbackAddressesNameThisMachine) {
  for (const char* name : {"localhost", "127.0.0.1", "127.1.2.3", "127.255.255.255", "127.1"})
    EXPECT_TRUE(names_this_machine(name)) << name;
  for (const char* name :
       {"127.example.net", "127.0.0.1.example.net", "127.", "127", "127.0.0.256", "127.0.0.1 x",
        " 127.0.0.1", "128.0.0.1", "1.127.0.0", "0.0.0.0", "localhost.example.net", "node7", ""}) {
    EXPECT_FALSE(names_this_machine(name)) << name;
    EXPECT_FALSE(is_loopback(name)) << name;
  }
}

TEST(Interface, AListenerHearsItsOwnAddressAlone) {
  Listener listener(0, "127.0.0.1");
  Socket socket = connect_to("127.0.0.1", listener.port(), soon());
  EXPECT_EQ(socket.own_address(), "127.0.0.1");
  auto now = std::chrono::steady_clock::now();
  EXPECT_THROW(connect_to("127.0.0.2", listener.port(), now), Error);
  for (const std::string& other : own_addresses()) {
    if (other == "127.0.0.1") continue;
    EXPECT_THROW(connect_to(other, listener.port(), now), Error) << other;
  }
  EXPECT_THROW(Listener(0, "192.0.2.1"), Error);
  EXPECT_THROW(Listener(0, "no address"), Error);
}

TEST(Interface, OneMachineHasOneLoopback) {
  EXPECT_NE(loopback_identity(), "");
  EXPECT_EQ(loopback_identity(), loopback_identity());
}

}  // namespace
}  // namespace spire
