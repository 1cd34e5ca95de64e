#include "engine/process/rendezvous/master_endpoint.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "tests/process/rendezvous/launches.h"

namespace spire {
namespace {

TEST(Interface, AnAddressOfThisMachineIsTheOnlyOne) {
  EXPECT_EQ(interface_named("localhost").address, "127.0.0.1");
  EXPECT_EQ(interface_named("127.0.0.7").address, "127.0.0.7");
  for (const std::string& own : own_addresses()) {
    EXPECT_EQ(interface_named(own).address, own);
    EXPECT_EQ(interface_named(own).advertised, std::vector<std::string>{own});
  }
}

TEST(Interface, AnAddressOfAnotherMachineMeansAll) {
  for (const char* name : {"192.0.2.1", "no-such-host.invalid"}) {
    EXPECT_EQ(interface_named(name).address, "");
    EXPECT_EQ(interface_named(name).advertised, own_addresses());
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

TEST(Interface, AListenerHasItsOwnAddressOnly) {
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

TEST(MasterEndpoint, GoesThroughJson) {
  MasterEndpoint endpoint{{"10.9.0.1", "127.0.0.1"}, 4711, "abc"};
  auto read = read_endpoint(to_json(endpoint));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->addresses, endpoint.addresses);
  EXPECT_EQ(read->port, 4711);
  EXPECT_EQ(read->secret, "abc");
  endpoint.secret.clear();
  EXPECT_EQ(read_endpoint(to_json(endpoint))->secret, "");
  for (const char* text : {"", "1", "{}", R"({"port":4711,"secret":""})",
                           R"({"addresses":["10.9.0.1"],"port":0,"secret":""})",
                           R"({"addresses":["10.9.0.1"],"port":65536,"secret":""})",
                           R"({"addresses":["10.9.0.1"],"port":"x","secret":""})",
                           R"({"addresses":["10.9.0.1"],"port":4711,"secret":"","form":2})",
                           R"({"addresses":[],"port":4711,"secret":""})",
                           R"({"addresses":[""],"port":4711,"secret":""})",
                           R"({"addresses":["\u001b[2J"],"port":4711,"secret":""})"})
    EXPECT_FALSE(read_endpoint(text)) << text;
}

}  // namespace
}  // namespace spire
