// Safetensors written and read: the same bits, whole files or none, damage named; and the bytes of
// an .npz file, as the zip and .npy formats lay them out.
#include <algorithm>
#include <bit>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/weights/files/safetensors_header.h"
#include "engine/weights/files/safetensors_reader.h"
#include "engine/weights/files/weight_writers.h"
#include "tests/base/message_of.h"
#include "tests/checkpoint/checkpoint_fixture.h"
#include "tests/weights/made_tensors.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits(values.size());
  std::ranges::transform(values, bits.begin(), [](float v) { return std::bit_cast<uint32_t>(v); });
  return bits;
}

class Safetensors : public CheckpointTest {
 protected:
  fs::path file() const { return folder / "model.safetensors"; }
  // Header and body of a file that no writer of Spire makes.
  fs::path made(const std::string& json, const std::string& body,
                const std::string& name = "model.safetensors") const {
    std::string length(8, '\0');
    for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(json.size() >> (8 * i));
    write_file_atomically(folder / name, length + json + body, Category::checkpoint);
    return folder / name;
  }
  std::string refusal(const fs::path& path) const {
    return message_of(Category::checkpoint, [&] { SafetensorsReader reader(path); });
  }

  const std::vector<NamedTensor> tensors = {{"z",
                                             {2, 3},
                                             {1.5f, -0.0f, std::numeric_limits<float>::infinity(),
                                              1e-42f, 3e38f, std::bit_cast<float>(0x7fa12345u)}},
                                            {"none", {0, 4}, {}},
                                            {"scalar", {}, {0.1f}},
                                            random_tensor("large", {1000, 1000}, 1)};
};

TEST_F(Safetensors, HaveTheSameBitsAgain) {
  auto paths = write_safetensors(file(), to_write(tensors));
  EXPECT_EQ(paths, std::vector<fs::path>{file()});
  SafetensorsReader reader(file());
  auto listed = reader.groups()[0].tensors;
  ASSERT_EQ(listed.size(), tensors.size());
  EXPECT_EQ(listed[0].name, "large");  // by name
  for (const NamedTensor& tensor : tensors)
    EXPECT_EQ(bits_of(values_in(reader, tensor.name)), bits_of(tensor.values)) << tensor.name;
  std::vector<float> part(7);
  reader.read(0, 0, 999'993, part);
  EXPECT_EQ(part, std::vector<float>(tensors[3].values.end() - 7, tensors[3].values.end()));
  // Tensors begin at a multiple of 8, and the metadata is what transformers asks for.
  std::string text = content_of(file());
  uint64_t length = 0;
  std::memcpy(&length, text.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(nlohmann::json::parse(text.substr(8, length))["__metadata__"]["format"], "pt");
}

TEST_F(Safetensors, RoundToHalfTheBits) {
  std::vector<NamedTensor> some = {random_tensor("w", {300}, 3)};
  for (DType dtype : {DType::bf16, DType::f16}) {
    write_safetensors(file(), to_write(some), {.dtype = dtype, .existing = Existing::replace});
    EXPECT_LT(fs::file_size(file()), 300 * 2 + 200);
    auto read = values_in(SafetensorsReader(file()), "w");
    for (size_t i = 0; i < read.size(); ++i) {
      float value = some[0].values[i];
      EXPECT_EQ(read[i], dtype == DType::bf16 ? float{bfloat16(value)} : float{float16(value)});
    }
  }
}

TEST_F(Safetensors, RefuseANumberThatIsTooLargeForHalfPrecision) {
  std::vector<NamedTensor> some = {{"w", {2}, {1.0f, 1e5f}}};
  EXPECT_THAT(message_of(Category::checkpoint,
                         [&] { write_safetensors(file(), to_write(some), {.dtype = DType::f16}); }),
              HasSubstr("'w' has the value 100000, too large for fp16; write bf16 or fp32"));
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(Safetensors, InSeveralFilesHaveAnIndex) {
  std::vector<NamedTensor> some = {random_tensor("a", {10}, 1), random_tensor("b", {30}, 2),
                                   random_tensor("c", {5}, 3), random_tensor("d", {5}, 4)};
  auto paths = write_safetensors(file(), to_write(some), {.shard_bytes = 60});
  ASSERT_EQ(paths.size(), 4u);
  EXPECT_EQ(paths[0].filename(), "model-00001-of-00003.safetensors");
  EXPECT_EQ(paths[3].filename(), "model.safetensors.index.json");
  auto index = nlohmann::json::parse(content_of(paths[3]));
  EXPECT_EQ(index["metadata"]["total_size"], 200);
  EXPECT_EQ(index["weight_map"]["d"], "model-00003-of-00003.safetensors");
  for (const fs::path& path : {folder.path(), paths[3]}) {
    SafetensorsReader reader(path);
    for (const NamedTensor& tensor : some) EXPECT_EQ(values_in(reader, tensor.name), tensor.values);
  }
  EXPECT_TRUE(is_safetensors(folder));
  fs::remove(paths[1]);
  EXPECT_THAT(refusal(folder), HasSubstr("model-00002-of-00003.safetensors"));
}

TEST_F(Safetensors, AreWrittenWholeOrNotAtAll) {
  std::vector<TensorToWrite> bad = to_write(tensors);
  bad.push_back({"broken", {5}, [](int64_t, std::span<float>) {
                   fail(Category::checkpoint, "the source is gone");
                 }});
  for (uint64_t shard_bytes : {0, 100}) {
    EXPECT_THROW(write_safetensors(file(), bad, {.shard_bytes = shard_bytes}), Error);
    EXPECT_TRUE(fs::is_empty(folder));
  }
  // The last of several names is taken: none of the others stays.
  write_file_atomically(folder / "model.safetensors.index.json", "x", Category::checkpoint);
  EXPECT_THROW(write_safetensors(file(), to_write(tensors), {.shard_bytes = 100}), Error);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1 + 0);
}

TEST_F(Safetensors, NeverReplaceAFileUnasked) {
  write_safetensors(file(), to_write(tensors));
  EXPECT_THROW(write_safetensors(file(), to_write(tensors)), Error);
  EXPECT_NO_THROW(write_safetensors(file(), to_write(tensors), {.existing = Existing::replace}));
  std::vector<NamedTensor> twice = {tensors[0], tensors[0]};
  EXPECT_THAT(message_of(Category::checkpoint,
                         [&] { write_safetensors(folder / "other", to_write(twice)); }),
              HasSubstr("two tensors would be named 'z'"));
}

// A folder that appears where the second shard goes fails after the first has its name.
TEST_F(Safetensors, KeepTheFilesThatTheyWouldReplaceUntilAllAreThere) {
  std::vector<NamedTensor> two = {random_tensor("a", {300}, 3), random_tensor("b", {300}, 4)};
  SafetensorsOptions options{.shard_bytes = 1200, .existing = Existing::replace};
  auto paths = write_safetensors(file(), to_write(two), options);
  ASSERT_EQ(paths.size(), 3u);
  std::string good = content_of(paths[0]);
  fs::remove(paths[1]);
  auto others = to_write(std::vector{random_tensor("a", {300}, 5), random_tensor("b", {300}, 6)});
  others[1].read = [&](int64_t, std::span<float>) { fs::create_directory(paths[1]); };
  EXPECT_THROW(write_safetensors(file(), others, options), Error);
  EXPECT_EQ(content_of(paths[0]), good);
  fs::remove(paths[1]);
  auto names = list_folder(folder, Category::checkpoint);
  EXPECT_EQ(names.size(), 2u);  // the first shard and the index, nothing beside them
}

TEST_F(Safetensors, CutOffSayWhere) {
  write_safetensors(file(), to_write(tensors));
  std::string whole = content_of(file());
  auto cut = [&](size_t bytes) {
    write_file_atomically(file(), whole.substr(0, bytes), Category::checkpoint);
    return refusal(file());
  };
  EXPECT_THAT(cut(5), HasSubstr("it has 5 bytes, too few for safetensors"));
  EXPECT_THAT(cut(100), HasSubstr("it ends within its header"));
  EXPECT_THAT(cut(whole.size() - 4), HasSubstr("damaged at 'large': it ends at byte"));
  EXPECT_THAT(cut(whole.size() - 4), HasSubstr(file().string()));
  write_file_atomically(file(), std::string(30, '\xff'), Category::checkpoint);
  EXPECT_THAT(refusal(file()), HasSubstr("it is no safetensors file"));
  EXPECT_THAT(refusal(folder / "absent.safetensors"), HasSubstr("absent.safetensors"));
}

// It became shorter after its header was read.
TEST_F(Safetensors, ThatShrinkSayWhichTensorIsLost) {
  write_safetensors(file(), to_write(tensors));
  SafetensorsReader reader(file());
  fs::resize_file(file(), fs::file_size(file()) - 4);
  EXPECT_THAT(message_of(Category::checkpoint, [&] { values_in(reader, "large"); }),
              HasSubstr("'large': it ends before byte"));
}

TEST_F(Safetensors, HaveOtherTypes) {
  double number = 0.1;
  std::string body(16, '\0');
  std::memcpy(body.data(), &number, 8);
  SafetensorsReader reader(made(R"({"d":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
                                R"("i":{"dtype":"I64","shape":[],"data_offsets":[8,16]}})",
                                body));
  EXPECT_EQ(values_in(reader, "d"), std::vector<float>{0.1f});
  EXPECT_THAT(message_of(Category::checkpoint, [&] { values_in(reader, "i"); }),
              HasSubstr("'i' is of type I64; weights are read from F32, F16, BF16 and F64"));
}

TEST_F(Safetensors, IndexAndFilesMustAgree) {
  write_safetensors(folder / "a.safetensors", to_write(std::vector<NamedTensor>{tensors[0]}));
  auto index = [&](const std::string& text) {
    write_file_atomically(folder / "model.safetensors.index.json", text, Category::checkpoint);
    return refusal(folder);
  };
  EXPECT_THAT(index("{"), HasSubstr("it is no index of safetensors files"));
  EXPECT_THAT(index("{\"weight_map\":{\"z\":1}}"), HasSubstr("it is no index"));
  EXPECT_THAT(index(R"({"weight_map":{"z":"../a.safetensors"}})"), HasSubstr("no name of a file"));
  EXPECT_THAT(index(R"({"weight_map":{"z":"a.safetensors","y":"a.safetensors"}})"),
              HasSubstr("'y' is not in a.safetensors, where it says it is"));
  EXPECT_THAT(index(R"({"weight_map":{"y":"a.safetensors"}})"),
              HasSubstr("does not say that 'z' is in a.safetensors"));
}

// What a header of safetensors may not say.

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

using Npz = CheckpointTest;

TEST_F(Npz, HasAnUncompressedNpyForEachTensor) {
  NamedTensor w = random_tensor("a.weight", {2, 3}, 1), s{"scalar", {}, {2.5f}};
  std::vector<TensorToWrite> tensors = {to_write(w), to_write(s)};
  write_npz(folder / "w.npz", tensors);
  std::string text = content_of(folder / "w.npz");
  EXPECT_EQ(text.substr(0, 4), "PK\x03\x04");
  EXPECT_THAT(text, HasSubstr("a.weight.npy"));
  size_t at = text.find("\x93NUMPY");
  ASSERT_NE(at, text.npos);
  auto length =
      static_cast<unsigned char>(text[at + 8]) + 256u * static_cast<unsigned char>(text[at + 9]);
  EXPECT_EQ((10 + length) % 64, 0u);
  EXPECT_THAT(text.substr(at + 10, length),
              testing::StartsWith("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, ), }"));
  std::vector<float> values(6);
  std::memcpy(values.data(), text.data() + at + 10 + length, 24);
  EXPECT_EQ(values, w.values);
  EXPECT_THAT(text, HasSubstr("'shape': (), }"));
}

TEST_F(Npz, IsWrittenWholeOrNotAtAll) {
  std::vector<TensorToWrite> bad = {{"broken", {5}, [](int64_t, std::span<float>) {
                                       fail(Category::checkpoint, "the source is gone");
                                     }}};
  EXPECT_THROW(write_npz(folder / "w.npz", bad), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(Npz, TheSameWeightsGiveTheSameBytes) {
  std::vector<TensorToWrite> tensors = {to_write(random_tensor("w", {5}, 1))};
  write_npz(folder / "a.npz", tensors);
  write_npz(folder / "b.npz", tensors);
  EXPECT_EQ(content_of(folder / "a.npz"), content_of(folder / "b.npz"));
}

}  // namespace
}  // namespace spire
