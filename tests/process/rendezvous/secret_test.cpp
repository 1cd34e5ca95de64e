#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/process/rendezvous/handshake.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A file with this content, for the time of a test.
class SecretFile {
 public:
  explicit SecretFile(const std::string& content) { std::ofstream(path) << content; }
  ~SecretFile() { std::filesystem::remove(path); }
  const std::string path = fmt::format("{}/spire_secret_{}", testing::TempDir(), getpid());
};

std::string hex(const Proof& proof) {
  std::string text;
  for (unsigned char byte : proof) text += fmt::format("{:02x}", byte);
  return text;
}

// RFC 4231, test cases 1, 2, 3 and 6.
TEST(Secret, ProofsAreHmacSha256) {
  EXPECT_EQ(hex(prove(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(prove("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(prove(std::string(20, '\xaa'), std::string(50, '\xdd'))),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(hex(prove(std::string(131, '\xaa'),
                      "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Secret, EqualMeansAllBytes) {
  Proof proof = prove("a secret", "a text");
  std::string bytes(reinterpret_cast<const char*>(proof.data()), proof.size());
  EXPECT_TRUE(equal(proof, bytes));
  EXPECT_FALSE(equal(proof, ""));
  EXPECT_FALSE(equal(proof, bytes.substr(1)));
  EXPECT_FALSE(equal(proof, bytes + "x"));
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] ^ 1);
    EXPECT_FALSE(equal(proof, other)) << at;
  }
}

TEST(Secret, RandomOnesDiffer) {
  std::set<std::string> secrets;
  for (int i = 0; i < 100; ++i) {
    std::string secret = random_secret();
    EXPECT_EQ(secret.size(), 64u);
    EXPECT_EQ(secret.find_first_not_of("0123456789abcdef"), std::string::npos);
    secrets.insert(secret);
  }
  EXPECT_EQ(secrets.size(), 100u);
}

using Variables = std::map<std::string, std::string>;
std::optional<std::string> read(const Variables& variables) {
  return read_secret([&](const std::string& name) -> std::optional<std::string> {
    auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(Secret, ComesFromAVariableOrAFile) {
  SecretFile secret("0123456789abcdef in a file \n");
  const std::string& file = secret.path;
  EXPECT_FALSE(read({}));
  EXPECT_EQ(read({{"SPIRE_SECRET", "0123456789abcdef"}}), "0123456789abcdef");
  EXPECT_EQ(read({{"SPIRE_SECRET_FILE", file}}), "0123456789abcdef in a file");
  EXPECT_EQ(read({{"SPIRE_SECRET", "0123456789abcdef\n"}, {"SPIRE_SECRET_FILE", file}}),
            "0123456789abcdef");
}

TEST(Secret, ABadOneIsNamedButNotShown) {
  SecretFile secret("my dog\n");
  const std::string &file = secret.path, nowhere = file + "_2";
  struct {
    Variables variables;
    std::string words;
  } cases[] = {{{{"SPIRE_SECRET", "my dog"}}, "SPIRE_SECRET has 6 characters, and needs 16"},
               {{{"SPIRE_SECRET", ""}}, "SPIRE_SECRET has 0 characters"},
               {{{"SPIRE_SECRET_FILE", file}},
                "the file of SPIRE_SECRET_FILE=" + file + " has 6 characters"},
               {{{"SPIRE_SECRET_FILE", nowhere}}, "SPIRE_SECRET_FILE: " + nowhere},
               {{{"SPIRE_SECRET_FILE", testing::TempDir()}}, "SPIRE_SECRET_FILE: "}};
  for (auto& [variables, words] : cases)
    EXPECT_THAT(message_of(Category::config, [&] { read(variables); }),
                AllOf(StartsWith(words), Not(HasSubstr("my dog"))));
}

}  // namespace
}  // namespace spire
