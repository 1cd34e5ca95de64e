#include "engine/process/rendezvous/peer_mesh.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace spire {
namespace {

TEST(PeerInfo, GoesThroughJson) {
  PeerInfo peer;
  peer.info = {3, "node-7.cluster", 4711, {0, 1, 64}};
  peer.size = 5;
  peer.port = 29501;
  peer.run = 0xffff'ffff'ffff'fffeu;
  peer.addresses = {"10.0.0.7", "127.0.0.1"};
  auto read = read_peer_info(to_json(peer));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_string(read->info), "rank 3 (host node-7.cluster, pid 4711)");
  EXPECT_EQ(read->info.cores, peer.info.cores);
  EXPECT_EQ(read->size, 5);
  EXPECT_EQ(read->port, 29501);
  EXPECT_EQ(read->run, peer.run);
  EXPECT_EQ(read->addresses, peer.addresses);

  peer.info.host = "a host\x1b[31m";  // a name that the system allows
  EXPECT_EQ(read_peer_info(to_json(peer))->info.host, "a?host?[31m");
  peer.info.host = "h\xc3\xb6st";
  EXPECT_EQ(read_peer_info(to_json(peer))->info.host, "h??st");
  peer.addresses.clear();
  peer.info.cores.clear();
  read = read_peer_info(to_json(peer));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->addresses.empty());
  EXPECT_TRUE(read->info.cores.empty());
}

// A PeerInfo with these fields, as JSON.
std::string json_with(const char* rank, const char* host = "host", const char* address = "1",
                      const char* rest = "") {
  return fmt::format(
      R"({{"rank":{},"host":"{}","pid":1,"cores":[2],"size":2,"port":1,"run":1,"addresses":["{}"]{}}})",
      rank, host, address, rest);
}

TEST(PeerInfo, NonsenseIsRefused) {
  EXPECT_TRUE(read_peer_info(json_with("1")));
  for (const char* text : {"", "one two three", "null", "{}", "[]"})
    EXPECT_FALSE(read_peer_info(text)) << text;
  for (const char* rank : {"2", "-1", "1.0", "\"1\"", "true", "null", "4294967297", "[1]"})
    EXPECT_FALSE(read_peer_info(json_with(rank))) << rank;
  EXPECT_FALSE(read_peer_info(json_with("1", "host", "1", R"(,"more":1)")));
  EXPECT_FALSE(read_peer_info(R"({"rank":1,"size":2})"));
  // Control characters that would reach the terminal.
  for (const char* bad : {"\\u001b[2J", "a\\u0007", "\\u009b2J", "h\xc3\xb6st", "\x1b[2J", "a b"}) {
    EXPECT_FALSE(read_peer_info(json_with("1", bad))) << bad;
    EXPECT_FALSE(read_peer_info(json_with("1", "host", bad))) << bad;
  }
  EXPECT_TRUE(read_peer_table(fmt::format("[{},{}]", json_with("0"), json_with("1"))));
  EXPECT_FALSE(read_peer_table(fmt::format("[{}]", json_with("1"))));  // rank 0 is missing
  EXPECT_FALSE(read_peer_table(json_with("0")));
}

}  // namespace
}  // namespace spire
