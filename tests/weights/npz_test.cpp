// The bytes of an .npz file, as the zip and .npy formats lay them out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/read_file.h"
#include "engine/weights/files/weight_writers.h"
#include "tests/checkpoint/checkpoint_fixture.h"
#include "tests/weights/to_write.h"

namespace spire {
namespace {

using testing::HasSubstr;

using Npz = CheckpointTest;

TEST_F(Npz, HasAnUncompressedNpyForEachTensor) {
  NamedTensor w = random_tensor("a.weight", {2, 3}, 1), s{"scalar", {}, {2.5f}};
  std::vector<TensorToWrite> tensors = {to_write(w), to_write(s)};
  write_npz(folder / "w.npz", tensors);
  std::string text = read_stream(folder / "w.npz", Category::checkpoint);
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
  EXPECT_EQ(read_stream(folder / "a.npz", Category::checkpoint),
            read_stream(folder / "b.npz", Category::checkpoint));
}

}  // namespace
}  // namespace spire
