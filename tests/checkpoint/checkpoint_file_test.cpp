#include "engine/checkpoint/checkpoint_file.h"

#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/checkpoint/training_state.h"
#include "tests/base/file_size_limit.h"
#include "tests/base/message_of.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace spire {
namespace {

using ::testing::HasSubstr;

class CheckpointFile : public CheckpointTest {
 protected:
  std::filesystem::path path = folder / "step_00000001.h5";
};

TEST_F(CheckpointFile, RoundTripKeepsEveryBitNameAndOrder) {
  TrainingState state = sample_state();
  write_checkpoint(path, state);
  expect_same_bits(read_checkpoint(path), state);
}

TEST_F(CheckpointFile, RoundTripOfAnEmptyStateAndOfALongConfig) {
  TrainingState state;
  state.config_yaml = std::string(1 << 20, 'x');  // an HDF5 attribute would stop at 64 KiB
  write_checkpoint(path, state);
  expect_same_bits(read_checkpoint(path), state);
}

TEST_F(CheckpointFile, ManyTensorsKeepTheirOrder) {
  TrainingState state;
  for (int i = 0; i < 500; ++i)
    state.weights.push_back(random_tensor("layer" + std::to_string((i * 37) % 500), {i % 5, 3}, 1));
  write_checkpoint(path, state);
  expect_same_bits(read_checkpoint(path), state);
}

TEST_F(CheckpointFile, SameStateGivesSameBytes) {
  write_checkpoint(path, sample_state());
  std::string first = content_of(path);
  write_checkpoint(path, sample_state());
  EXPECT_EQ(content_of(path), first);
}

TEST_F(CheckpointFile, PiecesOfAnySizeGiveTheSameBytes) {
  TrainingState state = sample_state();
  write_checkpoint(path, state);
  std::string whole = content_of(path);
  for (size_t floats : {1, 2, 7, 71, 72, 73, 1000}) {
    std::vector<float> piece(floats);
    write_checkpoint(path, state, state, piece);
    EXPECT_EQ(content_of(path), whole) << floats;
  }
}

TEST_F(CheckpointFile, TensorsAreReadInPiecesFromTheFileThatWasOpened) {
  TrainingState state = sample_state();
  write_checkpoint(path, state);
  spire::CheckpointFile file(path);
  EXPECT_EQ(file.metadata().step, state.step);
  std::filesystem::remove(path);
  std::vector<TensorGroup> groups = file.groups();
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[2].path, "/optimizer/v");
  EXPECT_EQ(groups[0].tensors[1].name, "conv1.weight");
  std::vector<float> part(11);
  file.read(2, 1, 30, part);
  const float* wanted = state.optimizer[0].second[1].values.data() + 30;
  EXPECT_EQ(std::memcmp(part.data(), wanted, sizeof(float) * 11), 0);
  EXPECT_THROW(file.read(2, 1, 62, part), Error) << "one too many";
}

// A state of 256 MiB that no memory holds: a value is computed from its index.
class LargeState : public SavedTensors {
 public:
  std::vector<TensorGroup> groups() const override {
    return {{weights_group, {{"a", {1 << 24}}, {"b", {3}}, {"c", {1 << 24}}}},
            {states_group, {}},
            {"/optimizer/m", {{"a", {1 << 24}}, {"b", {3}}, {"c", {1 << 24}}}}};
  }
  void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const override {
    for (float& value : out) value = static_cast<float>((begin++ * 31 + group * 7 + tensor) % 1009);
  }
};

// Returns by how many bytes the resident memory of a new process grows at its peak.
template <typename Body>
int64_t memory_of_child(const Body& body) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  pid_t child = ::fork();
  if (child == 0) {
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    body();
    ::getrusage(RUSAGE_SELF, &after);
    int64_t bytes = (after.ru_maxrss - before.ru_maxrss) * 1024;
    ::_exit(::write(ends[1], &bytes, sizeof bytes) == sizeof bytes ? 0 : 1);
  }
  int64_t bytes = -1;
  EXPECT_EQ(::read(ends[0], &bytes, sizeof bytes), static_cast<ssize_t>(sizeof bytes));
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  return bytes;
}

TEST_F(CheckpointFile, WritingAndReadingTakeNoMoreThanAPiece) {
  int64_t bytes = memory_of_child([&] {
    std::vector<float> piece(1 << 20);
    write_checkpoint(path, StateMetadata{}, LargeState{}, piece);
    spire::CheckpointFile file(path);
    file.read(0, 2, (1 << 24) - (1 << 20), piece);
  });
  EXPECT_GT(bytes, 0);
  EXPECT_LT(bytes, int64_t{32} << 20);
}

TEST_F(CheckpointFile, NamesThatHdf5CannotHoldAreRefused) {
  for (const char* name : {"", ".", "..", "a/b", "a b", "a\nb"}) {
    TrainingState state;
    state.weights = {random_tensor(name, {1}, 1)};
    EXPECT_THROW(write_checkpoint(path, state), Error) << name;
  }
  TrainingState state = sample_state();
  state.weights[0].values.pop_back();
  EXPECT_THROW(write_checkpoint(path, state), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(CheckpointFile, MissingAndForeignFilesAreNamed) {
  std::string missing = checkpoint_error([&] { read_checkpoint(path); });
  EXPECT_THAT(missing, HasSubstr(path.string()));
  EXPECT_THAT(missing, HasSubstr("cannot be read: No such file"));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(checkpoint_error([&] { read_checkpoint(folder / "pipe"); }),
              HasSubstr("pipe: is a FIFO, not a regular file"));
  write_bytes(path, std::string(4096, '\n'));
  EXPECT_THAT(
      checkpoint_error([&] { read_checkpoint(path); }),
      HasSubstr("it is not a Spire checkpoint; init.from, and load_weights() of a program, read "
                "weights from safetensors files, and trainer export writes ONNX and safetensors"));
  using namespace std::string_literals;
  for (auto [begin, kind] :
       {std::pair{"\x89HDF\r\n\x1a\n"s, "an HDF5 file of another program, such as Keras, and"},
        {"PK\x03\x04"s, "an archive, as Keras (.keras), PyTorch (.pt) and NumPy (.npz) write them"},
        {"\x93NUMPY\x01\0"s, "it is an array of NumPy (.npy), and not"},
        {"\x80\x02\x8a\x0al\xfc"s, "it is a pickled file, as older versions of PyTorch (.pth)"},
        {"\x40\0\0\0\0\0\0\0{\"weight\""s, "a safetensors file, and"}}) {
    write_bytes(path, begin + std::string(4096, '\0'));
    EXPECT_THAT(checkpoint_error([&] { read_checkpoint(path); }), HasSubstr(kind));
  }
  EXPECT_THAT(checkpoint_error([&] { read_checkpoint(folder); }),
              HasSubstr(folder.path().string()));
}

TEST_F(CheckpointFile, DamagedTensorIsNamed) {
  TrainingState state = sample_state();
  state.weights[1].values.assign(72, 1.0f);  // a run of bytes to be found in the file
  state.optimizer.clear();
  write_checkpoint(path, state);
  std::string bytes = content_of(path);
  std::string pattern(reinterpret_cast<const char*>(state.weights[1].values.data()), 72 * 4);
  bytes[bytes.find(pattern) + 100] ^= 1;
  write_bytes(path, bytes);
  std::string message = checkpoint_error([&] { read_checkpoint(path); });
  EXPECT_THAT(message, HasSubstr(path.string()));
  EXPECT_THAT(message, HasSubstr("tensor /weights/conv1.weight fails its checksum"));
}

// A file that is cut short is an error, wherever it ends.
TEST_F(CheckpointFile, TruncationAnywhereIsAnError) {
  write_checkpoint(path, sample_state());
  std::string bytes = content_of(path);
  for (size_t length = 0; length < bytes.size(); length += 1 + length / 40) {
    write_bytes(path, bytes.substr(0, length));
    checkpoint_error([&] { read_checkpoint(path); });
  }
  write_bytes(path, bytes + '\0');
  EXPECT_THAT(checkpoint_error([&] { read_checkpoint(path); }), HasSubstr("1 bytes after its end"));
}

// Checksums cover every byte, so a flipped bit is never accepted.
TEST_F(CheckpointFile, AnyFlippedBitIsAnError) {
  write_checkpoint(path, sample_state());
  std::string bytes = content_of(path);
  RandomStream random(11, Purpose::shuffle);
  for (uint32_t i = 0; i < 600; ++i) {
    size_t at = i < 100 ? i : random.below(2 * i, static_cast<uint32_t>(bytes.size()));
    std::string damaged = bytes;
    damaged[at] ^= static_cast<char>(1 << random.below(2 * i + 1, 8));
    write_bytes(path, damaged);
    checkpoint_error([&] { read_checkpoint(path); });
  }
}

TEST_F(CheckpointFile, GarbageBehindAGoodHeaderIsAnError) {
  write_checkpoint(path, sample_state());
  std::string bytes = content_of(path);
  RandomStream random(12, Purpose::shuffle);
  for (uint32_t i = 0; i < 200; ++i) {
    std::string damaged = bytes;
    size_t at = random.below(4 * i, static_cast<uint32_t>(bytes.size() - 64));
    for (size_t k = 0; k < 64; ++k) damaged[at + k] = static_cast<char>(random.bits(1000 * i + k));
    write_bytes(path, damaged);
    checkpoint_error([&] { read_checkpoint(path); });
  }
}

TEST_F(CheckpointFile, FullDiskIsAnErrorThatLeavesTheOldFile) {
  write_checkpoint(path, sample_state(1));
  auto full = std::filesystem::file_size(path);
  for (rlim_t limit = 0; limit < full; limit += 1 + full / 25) {
    FileSizeLimit disk(limit);
    std::string message =
        message_of(Category::device, [&] { write_checkpoint(path, sample_state(2)); });
    EXPECT_THAT(message, HasSubstr("File too large"));
    EXPECT_THAT(message, HasSubstr(path.string()));
  }
  EXPECT_EQ(read_checkpoint(path).step, 1);
  auto files = std::distance(std::filesystem::directory_iterator(folder), {});
  EXPECT_EQ(files, 1) << "a temporary was left";
}

TEST_F(CheckpointFile, UnwritableFolderIsAnError) {
  auto nowhere = folder / "absent" / "step_00000001.h5";
  std::string message = checkpoint_error([&] { write_checkpoint(nowhere, sample_state()); });
  EXPECT_THAT(message, HasSubstr("No such file or directory"));
}

using ::testing::ElementsAre;

std::vector<std::string> paths_of(const TrainingState& state, bool averaged) {
  std::vector<TensorGroup> groups = state.groups();
  std::vector<std::string> paths;
  for (TensorPlace place : model_tensors(state, averaged))
    paths.push_back(groups[place.group].path + "/" +
                    groups[place.group].tensors[place.tensor].name);
  return paths;
}

TEST(ModelTensors, AnAverageReplacesAWeightAndFrozenWeightsHaveNone) {
  TrainingState state;
  state.weights = {{"frozen", {1}, {1}}, {"trained", {1}, {2}}};
  state.states = {{"mean", {1}, {3}}};
  state.optimizer = {{"ema", {{"trained", {1}, {4}}}}};
  EXPECT_THAT(paths_of(state, true),
              ElementsAre("/weights/frozen", "/optimizer/ema/trained", "/states/mean"));
  EXPECT_THAT(paths_of(state, false),
              ElementsAre("/weights/frozen", "/weights/trained", "/states/mean"));
}

TEST(ModelTensors, WithoutAveragesWeightsAreTheirOwn) {
  TrainingState state;
  state.weights = {{"trained", {1}, {2}}};
  state.optimizer = {{"m", {{"trained", {1}, {4}}}}};
  EXPECT_THAT(paths_of(state, true), ElementsAre("/weights/trained"));
}

}  // namespace
}  // namespace spire
