#include "engine/config/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/load_config.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::HasSubstr;

TEST(ListenAddress, IsAPortHereOrAHostAndAPort) {
  EXPECT_EQ(parse_listen_address("9400"), (ListenAddress{"127.0.0.1", 9400}));
  EXPECT_EQ(parse_listen_address("0"), (ListenAddress{"127.0.0.1", 0}));
  EXPECT_EQ(parse_listen_address("0.0.0.0:65535"), (ListenAddress{"0.0.0.0", 65535}));
  EXPECT_EQ(parse_listen_address("node-1.lan:80"), (ListenAddress{"node-1.lan", 80}));
  EXPECT_FALSE(parse_listen_address("none"));
}

TEST(ListenAddress, OtherWordsAreRefused) {
  for (const char* text : {"", ":9400", "host:", "host", "65536", "-1", "+80", "host:123456",
                           "[::1]:80", "a b:80", "http://a:80", "1e3"})
    EXPECT_THAT(message_of(Category::config, [&] { parse_listen_address(text); }),
                HasSubstr("is no address; write HOST:PORT"))
        << text;
}

TEST(ListenAddress, KeysOfTheConfigTakeIt) {
  RunConfig config = parse_config({}, {"monitor.serve=8080", "monitor.prometheus=\"0\""}).config;
  EXPECT_EQ(config.monitor.serve, "8080");
  EXPECT_EQ(config.monitor.prometheus, "0");
  EXPECT_EQ(parse_config({}, {}).config.monitor.serve, "none");
  EXPECT_THAT(message_of(Category::config, [] { parse_config({}, {"monitor.serve=here"}); }),
              HasSubstr("'here' is no address"));
}

}  // namespace
}  // namespace spire
