// What a header of safetensors may not say.
#include "engine/weights/files/safetensors_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::HasSubstr;

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   uint64_t begin, uint64_t end) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", name, dtype,
                     shape, begin, end);
}

TEST(SafetensorsHeader, TensorsInTheOrderOfTheirBytes) {
  auto tensors = parse_safetensors_header(
      "{\"__metadata__\":{\"format\":\"pt\"}," + tensor("b", "F32", "[2,3]", 8, 32) + "," +
          tensor("a", "I64", "[]", 0, 8) + "," + tensor("none", "BF16", "[0,4]", 32, 32) + "}   ",
      32);
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].shape, Shape{});
  EXPECT_EQ(tensors[1].shape, (Shape{2, 3}));
  EXPECT_EQ(tensors[1].begin, 8u);
  EXPECT_EQ(tensors[2].shape, (Shape{0, 4}));
}

TEST(SafetensorsHeader, ReadsWhatItWrites) {
  std::vector<StoredTensor> tensors = {{"a \"quoted\" name", "F16", {2, 2}, 0, 8},
                                       {"b", "F32", {}, 8, 12}};
  std::string header = safetensors_header(tensors, {{"format", "pt"}});
  EXPECT_EQ(header.size() % 8, 0u);
  uint64_t length = 0;
  for (size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(header[i]);
  ASSERT_EQ(length, header.size() - 8);
  auto read = parse_safetensors_header(std::string_view(header).substr(8), 12);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].name, tensors[0].name);
  EXPECT_EQ(read[1].dtype, "F32");
}

// A type that came later: its size is not known, and only what wants it need be refused.
TEST(SafetensorsHeader, AnUnknownTypeMayHaveAnySize) {
  EXPECT_EQ(parse_safetensors_header("{" + tensor("a", "F4", "[3]", 0, 2) + "}", 2).size(), 1u);
}

std::string empty_tensors(size_t count) {
  std::string json = "{";
  for (size_t i = 0; i < count; ++i)
    json += (i > 0 ? "," : "") + tensor(fmt::format("t{}", i), "F32", "[0]", 0, 0);
  return json + "}";
}

// Many tensors are read in a time that grows as their number: the test hangs where it grows as the
// square.
TEST(SafetensorsHeader, NumberOfTensorsIsBounded) {
  EXPECT_EQ(parse_safetensors_header(empty_tensors(most_safetensors), 0).size(), most_safetensors);
  EXPECT_THAT(message_of(Category::checkpoint,
                         [] { parse_safetensors_header(empty_tensors(most_safetensors + 1), 0); }),
              HasSubstr("more than 100000 tensors"));
}

struct Damage {
  std::string name, json, message;
  uint64_t bytes = 8;
};

class DamagedHeader : public testing::TestWithParam<Damage> {};

TEST_P(DamagedHeader, IsRefused) {
  const Damage& damage = GetParam();
  EXPECT_THAT(message_of(Category::checkpoint,
                         [&] { parse_safetensors_header(damage.json, damage.bytes); }),
              HasSubstr(damage.message));
}

const std::string good = tensor("a", "F32", "[2]", 0, 8);

INSTANTIATE_TEST_SUITE_P(
    Headers, DamagedHeader,
    testing::Values(
        Damage{"Empty", "", "does not begin with '{'"}, Damage{"List", "[]", "does not begin"},
        Damage{"NotJson", "{\"a\":", "is not JSON"}, Damage{"Binary", "{\xff\xfe}", "is not JSON"},
        Damage{"Twice", "{" + good + "," + good + "}", "has 'a' twice"},
        Damage{"LongName", "{" + tensor(std::string(1001, 'n'), "F32", "[2]", 0, 8) + "}",
               "a name of 1001 bytes"},
        Damage{"Deep", "{\"a\":[[[[[]]]]]}", "lists within lists"},
        Damage{"Word", "{\"a\":1}", "at 'a': it needs dtype, shape and data_offsets"},
        Damage{"NoShape", R"({"a":{"dtype":"F32","data_offsets":[0,8]}})", "it needs dtype"},
        Damage{"Dtype", R"({"a":{"dtype":1,"shape":[2],"data_offsets":[0,8]}})", "not a word"},
        Damage{"Shape", R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", "not a list"},
        Damage{"Negative", "{" + tensor("a", "F32", "[-2]", 0, 8) + "}", "not a number >= 0"},
        Damage{"Fraction", "{" + tensor("a", "F32", "[2.0]", 0, 8) + "}", "not a number >= 0"},
        Damage{"Axes", "{" + tensor("a", "F32", "[1,1,1,1,1,1,2]", 0, 8) + "}", "has 7 axes"},
        Damage{"Huge", "{" + tensor("a", "F32", "[4294967296,4294967296]", 0, 8) + "}",
               "too many elements"},
        Damage{"HugeOfNone", "{" + tensor("a", "F32", "[18446744073709551615,0]", 0, 8) + "}",
               "too many elements"},
        Damage{"OneOffset", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})",
               "not a list of two"},
        Damage{"Backwards", "{" + tensor("a", "F32", "[2]", 8, 0) + "}", "ends before it begins"},
        Damage{"Beyond", "{" + tensor("a", "F32", "[4]", 0, 16) + "}",
               "ends at byte 16 behind the header, but the file has only 8"},
        Damage{"Size", "{" + tensor("a", "F32", "[3]", 0, 8) + "}", "takes 12 bytes, but it has 8"},
        Damage{"Overlap", "{" + good + "," + tensor("b", "F32", "[1]", 4, 8) + "}", "overlap"},
        Damage{"Hole", "{" + tensor("a", "F32", "[1]", 4, 8) + "}",
               "the 4 bytes before it belong to no tensor"},
        Damage{"Rest", "{" + good + "}", "last 4 bytes belong to no tensor", 12},
        Damage{"Metadata", "{\"__metadata__\":{\"x\":1}," + good + "}", "not a map of words"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
