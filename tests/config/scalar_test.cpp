#include "engine/config/scalar.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <spire/error.h>
#include <spire/load_config.h>

#include "engine/config/schema.h"
#include "engine/config/text.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::HasSubstr;

constexpr size_t gib = size_t{1} << 30;

std::string refusal_of(const std::function<void()>& action) {
  return message_if_any(Category::config, action);
}

TEST(MemoryLimit, ReadsBytesWithTheirUnit) {
  EXPECT_EQ(parse_memory_limit("20GiB").bytes, 20 * gib);
  EXPECT_EQ(parse_memory_limit("512MiB").bytes, gib / 2);
  EXPECT_EQ(parse_memory_limit("1.5 GiB").bytes, 3 * gib / 2);
  EXPECT_EQ(parse_memory_limit("100KiB").bytes, 102400u);
  EXPECT_EQ(parse_memory_limit("2TiB").bytes, 2048 * gib);
  EXPECT_EQ(parse_memory_limit("3kB").bytes, 3000u);
  EXPECT_EQ(parse_memory_limit("80GB").bytes, 80'000'000'000u);
  EXPECT_EQ(parse_memory_limit("7MB").bytes, 7'000'000u);
  EXPECT_EQ(parse_memory_limit("1TB").bytes, 1'000'000'000'000u);
  EXPECT_EQ(parse_memory_limit("4096B").bytes, 4096u);
}

TEST(MemoryLimit, ReadsFractionsAndAuto) {
  EXPECT_EQ(parse_memory_limit("0.8").fraction, 0.8);
  EXPECT_EQ(parse_memory_limit("1").fraction, 1.0);
  EXPECT_FALSE(parse_memory_limit("0.8").bytes);
  MemoryLimit all = parse_memory_limit("auto");
  EXPECT_FALSE(all.bytes || all.fraction);
}

TEST(MemoryLimit, OtherWordsAreRefused) {
  for (const char* text :
       {"", "much", "GiB", "20gib", "20 Gi", "20GiBs", "1.5.2GiB", "-1GiB", "-0.5", "0x10MiB"})
    EXPECT_NE(refusal_of([&] { parse_memory_limit(text); }), "") << text;
  for (const char* text : {"0", "0.0", "1.01", "20"})
    EXPECT_THAT(refusal_of([&] { parse_memory_limit(text); }), HasSubstr("not a fraction")) << text;
  for (const char* text : {"0GiB", "0.4B", "99999999TiB"})
    EXPECT_THAT(refusal_of([&] { parse_memory_limit(text); }), HasSubstr("not a possible amount"))
        << text;
  EXPECT_THAT(refusal_of([&] { parse_memory_limit("20GiBs"); }),
              HasSubstr("'20GiBs' does not end in a unit of bytes (KiB, MiB, "));
}

TEST(MemoryLimit, IsSharedByTheDevicesOnOne) {
  EXPECT_EQ(parse_memory_limit("20GiB").share(80 * gib, 1), 20 * gib);
  EXPECT_EQ(parse_memory_limit("20GiB").share(80 * gib, 2), 10 * gib);
  EXPECT_EQ(parse_memory_limit("0.5").share(80 * gib, 1), 40 * gib);
  EXPECT_EQ(parse_memory_limit("0.5").share(80 * gib, 4), 10 * gib);
  EXPECT_FALSE(parse_memory_limit("auto").share(80 * gib, 2));
}

TEST(MemoryLimit, IsAKeyOfTheConfig) {
  auto config = [](const std::string& limit) {
    return parse_config({{"run.yaml", "memory: {limit: " + limit + "}\n"}}, {}).config;
  };
  EXPECT_EQ(config("0.5").memory.limit, "0.5");
  EXPECT_EQ(config("20GiB").memory.limit, "20GiB");
  EXPECT_EQ(RunConfig().memory.limit, "auto");
  EXPECT_THAT(
      refusal_of([&] { config("20"); }),
      HasSubstr(
          "run.yaml:1:17: memory.limit: 20 has no unit of bytes and is not a fraction above 0"));
  EXPECT_THAT(config_help(), HasSubstr("memory.limit: auto"));
}

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

class HomePath : public testing::Test {
 protected:
  HomePath() { setenv("HOME", "/home/of tests", 1); }
  ~HomePath() override { setenv("HOME", before_.c_str(), 1); }

 private:
  std::string before_ = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
};

TEST_F(HomePath, IsReplacedAtTheHeadAlone) {
  EXPECT_EQ(expand_home("~"), "/home/of tests");
  EXPECT_EQ(expand_home("~/runs/a"), "/home/of tests/runs/a");
  EXPECT_EQ(expand_home("~/"), "/home/of tests/");
  for (const char* other : {"", "runs/~", "/~/a", "./~/a", "a~", " ~/a", "~no such user~/a"})
    EXPECT_EQ(expand_home(other), other);
}

TEST_F(HomePath, OfAnotherUserAndWithoutTheVariable) {
  const passwd* root = getpwuid(0);
  ASSERT_NE(root, nullptr);
  std::string name = root->pw_name, folder = root->pw_dir;
  EXPECT_EQ(expand_home("~" + name + "/a"), folder + "/a");
  EXPECT_EQ(expand_home("~" + name), folder);
  unsetenv("HOME");
  const passwd* own = getpwuid(getuid());
  std::string home = own != nullptr ? own->pw_dir : "~";
  EXPECT_EQ(expand_home("~/a"), home + "/a");
}

TEST_F(HomePath, StandsInEveryKeyThatIsAPath) {
  std::vector<std::string> paths;
  for (const Field& field : schema()) {
    if (!field.is_path) continue;
    paths.push_back(field.path);
    RunConfig defaults;
    bool list = std::holds_alternative<std::vector<std::string>*>(field.slot(defaults));
    RunConfig config = parse_config({}, {field.path + (list ? "=[~/a]" : "=~/a")}).config;
    Slot slot = field.slot(config);
    auto* const* one = std::get_if<std::string*>(&slot);
    EXPECT_EQ(one != nullptr ? **one : std::get<std::vector<std::string>*>(slot)->front(),
              "/home/of tests/a")
        << field.path;
  }
  EXPECT_THAT(paths,
              testing::IsSupersetOf({"data.path", "data.val.path", "data.tokens.text",
                                     "data.tokens.bpe_path", "data.npy.train.input", "distill.from",
                                     "init.from", "output", "cuda.autotune_cache"}));
}

TEST_F(HomePath, StandsInFilesAndInEachPathOfAList) {
  RunConfig config =
      parse_config({{"run.yaml", "output: ~/runs/a\ndata:\n  tokens: {text: [~/a.txt, b.txt]}\n"}},
                   {"data.name=tokens", "data.tokens.vocabulary=bytes"})
          .config;
  EXPECT_EQ(config.output, "/home/of tests/runs/a");
  EXPECT_EQ(config.data.tokens.text, (std::vector<std::string>{"/home/of tests/a.txt", "b.txt"}));
  EXPECT_THAT(to_yaml(config), testing::HasSubstr("/home/of tests/runs/a"));
}

}  // namespace
}  // namespace spire
