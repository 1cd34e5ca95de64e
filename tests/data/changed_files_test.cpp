// Files that are emptied, cut, written or replaced while a run reads them: an error by name, never
// other numbers, and never the end of the process.
#include <functional>

#include <gmock/gmock.h>

#include "engine/config/words.h"
#include "engine/data/input_file.h"
#include "engine/data/text/token_dataset.h"
#include "tests/data/formats/hdf5_files.h"
#include "tests/data/images/image_files.h"
#include "tests/data/text/shard_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

constexpr int64_t rows = 40;

// Sets the time back, so that later writes have another one, however coarse the clock is.
void make_old(const fs::path& path) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
}

// A dataset of 40 samples; the path is of the file that the last of them lies in.
struct Kind {
  const char* name;
  std::function<fs::path(const fs::path& folder, DataConfig& config)> make;
};

fs::path make_hdf5(const fs::path& folder, DataConfig& config, hsize_t chunk, unsigned gzip) {
  fs::path path = folder / "a.h5";
  Bytes pixels = pattern(rows * 6 * 6);
  std::vector<int64_t> labels(rows, 1);
  Hdf5File file(path);
  for (std::string half : {"train", "test"}) {
    file.put(half + "/images", {rows, 6, 6, 1}, pixels, chunk, gzip);
    file.put(half + "/labels", {rows}, labels, chunk, gzip);
  }
  config.name = "hdf5";
  config.path = path.string();
  config.shuffle = chunk == 0
                       ? DataConfig::Shuffle::full
                       : DataConfig::Shuffle::chunk;  // rows are read when they are asked for
  return path;
}

fs::path make_shards(const fs::path& folder, DataConfig& config, int64_t vocabulary) {
  constexpr int64_t length = 8;
  for (const char* split : {"train", "val"})
    for (int64_t number : {0, 1})
      write_token_shard(folder / token_shard_name(split, number),
                        counted(rows / 2 * length + 2 * length, 0, 90), vocabulary);
  config.name = "tokens";
  config.path = folder.string();
  config.tokens.length = length;
  return folder / token_shard_name("train", 1);
}

fs::path make_images(const fs::path& folder, DataConfig& config) {
  for (const char* half : {"train", "val"}) {
    for (const char* name : {"0", "a"}) fs::create_directories(folder / half / name);
    for (int64_t i = 0; i < rows; ++i)  // of two classes
      write_file(folder / half / (i == 0 ? "0" : "a") / fmt::format("{:03}.png", i),
                 png_bytes(smooth_image(9, 9, 1)));
  }
  config.name = "image_folder";
  config.path = folder.string();
  config.image.size = 8;
  return folder / "train/a" / fmt::format("{:03}.png", rows - 1);
}

const std::vector<Kind> kinds = {
    {"Hdf5Rows", [](const fs::path& at, DataConfig& to) { return make_hdf5(at, to, 0, 0); }},
    {"Hdf5Chunks", [](const fs::path& at, DataConfig& to) { return make_hdf5(at, to, 4, 0); }},
    {"Hdf5Gzip", [](const fs::path& at, DataConfig& to) { return make_hdf5(at, to, 4, 6); }},
    {"Shards16", [](const fs::path& at, DataConfig& to) { return make_shards(at, to, 100); }},
    {"Shards32", [](const fs::path& at, DataConfig& to) { return make_shards(at, to, 1 << 17); }},
    {"Images", make_images},
};

struct Change {
  const char* name;
  std::function<void(const fs::path& path)> make;
  const char* says;
};

Bytes bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::vector<Change> changes = {
    {"Emptied", [](const fs::path& path) { write_file(path, {}); }, "now 0"},
    {"CutToABlock", [](const fs::path& path) { fs::resize_file(path, 64); }, "now 64"},
    {"CutByAByte", [](const fs::path& path) { fs::resize_file(path, fs::file_size(path) - 1); },
     "bytes, now"},
    {"Longer", [](const fs::path& path) { fs::resize_file(path, fs::file_size(path) + 4096); },
     "bytes, now"},
    {"WrittenAtTheSameSize", [](const fs::path& path) { write_file(path, bytes_of(path)); },
     "it was written"},
    {"ZerosAtTheSameSize",
     [](const fs::path& path) { write_file(path, Bytes(fs::file_size(path))); }, "it was written"},
};

void read_row(const Dataset& dataset, int64_t sample) {
  read_column<std::byte>(dataset, 0, {sample});
}

struct Case {
  Kind kind;
  Change change;
  const char* on_error;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Kind& kind : kinds)
    for (const Change& change : changes)
      for (const char* on_error : {"stop", "skip"}) all.push_back({kind, change, on_error});
  return all;
}

class ChangedFile : public testing::TestWithParam<Case> {};

TEST_P(ChangedFile, EndsTheRunAndIsNamed) {
  TemporaryFolder folder;
  DataConfig config;
  config.on_error = *find_word<DataConfig::OnError>(GetParam().on_error);
  fs::path path = GetParam().kind.make(folder.path(), config);
  make_old(path);
  DatasetPair pair = open_dataset(config, {});
  const Dataset& train = *pair.train;
  bool reopens = config.name == "image_folder";
  read_row(train, reopens ? train.count() - 1 : 0);
  GetParam().change.make(path);
  EXPECT_THAT(
      message_of(Category::data, [&] { read_row(train, train.count() - 1); }),
      AllOf(HasSubstr(path.string()), HasSubstr("changed while the run reads it"),
            HasSubstr(reopens ? "another one than was read before" : GetParam().change.says)));
  EXPECT_EQ(train.skipped(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, ChangedFile, testing::ValuesIn(cases()), [](const auto& one) {
  return fmt::format("{}{}_{}", one.param.kind.name, one.param.change.name, one.param.on_error);
});

// Renaming a new file to the name of an old one does not affect a run that has the old one open. A
// run that opens the name again finds another file.
TEST(ChangedFile, ReplacedByRenaming) {
  for (const Kind& kind : kinds) {
    TemporaryFolder folder;
    DataConfig config;
    fs::path path = kind.make(folder.path(), config);
    make_old(path);
    DatasetPair pair = open_dataset(config, {});
    int64_t last = pair.train->count() - 1;
    auto before = read_column<std::byte>(*pair.train, 0, {last});
    Bytes other = bytes_of(path);
    other.back() ^= 1;
    write_file(folder / "new", other);
    fs::rename(folder / "new", path);
    if (config.name == "image_folder") {
      EXPECT_THAT(message_of(Category::data, [&] { read_row(*pair.train, last); }),
                  HasSubstr("another one than was read before"));
    } else {
      EXPECT_EQ(read_column<std::byte>(*pair.train, 0, {last}), before) << kind.name;
    }
  }
}

TEST(ChangedFile, ImageThatIsGone) {
  for (const char* on_error : {"stop", "skip"}) {
    TemporaryFolder folder;
    DataConfig config;
    config.on_error = *find_word<DataConfig::OnError>(on_error);
    fs::path path = make_images(folder.path(), config);
    DatasetPair pair = open_dataset(config, {});
    read_row(*pair.train, rows - 1);
    fs::remove(path);
    EXPECT_THAT(message_of(Category::data, [&] { read_row(*pair.train, rows - 1); }),
                AllOf(HasSubstr(path.string()), HasSubstr("changed while the run reads it")));
  }
}

TEST(ChangedFile, ImageThatIsAFolderNow) {
  TemporaryFolder folder;
  DataConfig config;
  fs::path path = make_images(folder.path(), config);
  DatasetPair pair = open_dataset(config, {});
  read_row(*pair.train, rows - 1);
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_THAT(message_of(Category::data, [&] { read_row(*pair.train, rows - 1); }),
              HasSubstr("changed while the run reads it: it is not a regular file any more"));
}

// An image that cannot be read, here for a link to itself, need not have changed.
TEST(ChangedFile, ImageThatCannotBeRead) {
  TemporaryFolder folder;
  DataConfig config;
  fs::path path = make_images(folder.path(), config);
  DatasetPair pair = open_dataset(config, {});
  read_row(*pair.train, rows - 1);
  fs::remove(path);
  fs::create_symlink(path, path);
  EXPECT_THAT(message_of(Category::data, [&] { read_row(*pair.train, rows - 1); }),
              AllOf(HasSubstr(path.string() + ": cannot be read"), Not(HasSubstr("changed"))));
}

// Another time of reading, of linking or of permissions is no change.
TEST(ChangedFile, ComparesContentsAlone) {
  for (const Kind& kind : kinds) {
    TemporaryFolder folder;
    DataConfig config;
    fs::path path = kind.make(folder.path(), config);
    DatasetPair pair = open_dataset(config, {});
    for (int64_t sample : {int64_t{0}, pair.train->count() - 1}) read_row(*pair.train, sample);
    bytes_of(path);
    fs::permissions(path, fs::perms::owner_read);
    fs::create_hard_link(path, folder / "link");
    for (int64_t sample : {int64_t{0}, pair.train->count() - 1}) read_row(*pair.train, sample);
  }
}

// Files that are read once, when a run starts.
TEST(ChangedFile, WhileItIsReadAsAStream) {
  TemporaryFolder folder;
  for (bool longer : {false, true}) {
    write_file(folder / "a", Bytes(1 << 20, 'a'));
    InputFile file(folder / "a");
    Bytes part(1 << 10);
    EXPECT_EQ(file.read(part), part.size());
    fs::resize_file(folder / "a", longer ? 2 << 20 : 1 << 19);
    Bytes rest(4 << 20);
    EXPECT_THAT(message_of(Category::data, [&] { file.read(rest); }),
                AllOf(HasSubstr((folder / "a").string()), HasSubstr("it had 1048576 bytes, now")));
  }
}

}  // namespace
}  // namespace spire
