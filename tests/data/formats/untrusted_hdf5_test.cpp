// Untrusted HDF5 files: links, newer library versions, unknown filters, decompression bombs, and
// damage that crashes libhdf5.
#include <algorithm>
#include <functional>
#include <sys/resource.h>
#include <sys/stat.h>

#include <gmock/gmock.h>

#include "engine/data/formats/hdf5_file.h"
#include "engine/data/input_file.h"
#include "tests/data/formats/hdf5_files.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace fs = std::filesystem;

std::string refusal(const fs::path& path) {
  return open_refusal(data_at("hdf5", path));
}

// Writes 40 rows of 2 features, and labels, to both splits.
void write_good(Hdf5File& file, hsize_t chunk = 0, unsigned gzip = 0) {
  std::vector<float> features;
  for (int i = 0; i < 80; ++i) features.push_back(static_cast<float>(i));
  std::vector<int32_t> labels(40);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i % 3);
  for (std::string split : {"train", "test"}) {
    file.put(split + "/features", {40, 2}, features, chunk, gzip);
    file.put(split + "/labels", {40}, labels, chunk, gzip);
  }
}

struct Link {
  const char* name;
  std::function<void(hid_t file)> make;  // in a file without "train/features"
  std::vector<const char*> says;
};

void external(hid_t file, const char* object, const char* name) {
  h5::check(H5Lcreate_external("other.h5", object, file, name, H5P_DEFAULT, H5P_DEFAULT), "link");
}
void soft(hid_t file, const char* to, const char* name) {
  h5::check(H5Lcreate_soft(to, file, name, H5P_DEFAULT, H5P_DEFAULT), "link");
}
void drop(hid_t file, const char* name) {
  h5::check(H5Ldelete(file, name, H5P_DEFAULT), "unlink");
}

constexpr const char* into_another = "is a link into another file, 'other.h5'";
const std::vector<Link> links = {
    {"OfADataset",
     [](hid_t file) { external(file, "/train/features", "train/features"); },
     {"train/features", into_another, "name that file by data.path"}},
    {"ToAFileThatIsMissing",
     [](hid_t file) {
       h5::check(
           H5Lcreate_external("none.h5", "/x", file, "train/features", H5P_DEFAULT, H5P_DEFAULT),
           "link");
     },
     {"train/features", "is a link into another file, 'none.h5'"}},
    {"OfTheTest",
     [](hid_t file) {
       soft(file, "/test/features", "train/features");
       drop(file, "test/labels");
       external(file, "/test/labels", "test/labels");
     },
     {"test/labels", into_another}},
    {"OfAGroup",
     [](hid_t file) {
       drop(file, "train");
       external(file, "/train", "train");
     },
     {"train", into_another}},
    {"BehindASoftOne",
     [](hid_t file) {
       external(file, "/", "real");
       soft(file, "/real/train/features", "train/features");
     },
     {"train/features", into_another}},
    {"ToNowhere",
     [](hid_t file) { soft(file, "/nowhere", "train/features"); },
     {"train/features", "is a link to nowhere", "correct the link"}},
    {"ToItself",
     [](hid_t file) { soft(file, "/train/features", "train/features"); },
     {"HDF5 cannot open train/features", "too many links"}},
    {"ToAGroup",
     [](hid_t file) { soft(file, "/test", "train/features"); },
     {"no dataset 'train/features'", "it has: 'test/features', 'test/labels', 'train/labels'"}},
    {"OfAGroupThatIsADataset",
     [](hid_t file) {
       drop(file, "train");
       soft(file, "/test/features", "train");
     },
     {"no dataset 'train/images'"}},
};

class UntrustedHdf5 : public FolderTest {};

// Only the file of data.path is read, whatever kind of link points to another one.
TEST_F(UntrustedHdf5, LinksIntoOtherFilesAreRefusedByName) {
  for (const Link& link : links) {
    SCOPED_TRACE(link.name);
    Folder folder;
    {
      Hdf5File other(folder / "other.h5");
      write_good(other);
    }
    {
      Hdf5File file(folder / "a.h5");
      write_good(file);
      drop(file.id(), "train/features");
      link.make(file.id());
    }
    std::string message = refusal(folder / "a.h5");
    EXPECT_THAT(message, HasSubstr((folder / "a.h5").string()));
    for (const char* says : link.says) EXPECT_THAT(message, HasSubstr(says));
  }
}

// Names are untrusted, too: a message has few of them, on one line.
TEST_F(UntrustedHdf5, AMessageHasFewOfManyNames) {
  {
    Hdf5File file(folder_ / "a.h5");
    for (int i = 0; i < 2000; ++i)
      file.put<uint8_t>(fmt::format("{:04}\n\x1b[2J", i), {1}, Bytes(1));
  }
  EXPECT_THAT(refusal(folder_ / "a.h5"),
              AllOf(HasSubstr("it has: '0000\\x0a\\x1b[2J', "), HasSubstr(" and 1992 more"),
                    Not(HasSubstr("0008")), Not(HasSubstr("\n"))));
}

TEST_F(UntrustedHdf5, LinksWithinTheFileAreFollowed) {
  {
    Hdf5File file(folder_ / "a.h5");
    write_good(file);
    h5::check(H5Lmove(file.id(), "train", file.id(), "deep", H5P_DEFAULT, H5P_DEFAULT), "rename");
    soft(file.id(), "/deep", "train");
  }
  EXPECT_EQ(open("hdf5", folder_ / "a.h5").train->count(), 40);
}

// Sets the first byte of the part of the file that begins with `begins`.
void replace(const fs::path& path, const Bytes& begins, uint8_t byte) {
  Bytes bytes = file_bytes(path);
  auto at = std::search(bytes.begin(), bytes.end(), begins.begin(), begins.end());
  ASSERT_NE(at, bytes.end());
  *at = byte;
  write_file(path, bytes);
}

// As h5py.File(path, "w", libver="latest") of h5py 3.16 (HDF5 2.0.0) wrote it: features in chunks.
TEST_F(UntrustedHdf5, ADatasetOfANewerLibraryIsNotReportedMissing) {
  fs::path path = fs::path(DATA_FOLDER) / "h5py_3.16_latest.h5";
  EXPECT_THAT(refusal(path),
              HasAll("HDF5 cannot open train/features: bad version number for layout",
                     "of a newer HDF5 library than the " + h5::library_version(),
                     "libver=('earliest', 'v110')"));
}

// Each message of a dataset's header that has a version gets an unknown one.
TEST_F(UntrustedHdf5, EachUnknownVersionIsReported) {
  struct Part {
    const char* name;
    Bytes begins;  // in a file of the old form, which has no checksums
    uint8_t version;
  };
  const std::vector<Part> parts = {
      {"type", {0x11, 0x20, 0x1f, 0x00, 0x04, 0, 0, 0, 0, 0, 0x20, 0, 0x17, 0x08}, 0x51},
      {"shape", {0x01, 0x02, 0x01, 0, 0, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0}, 9},
      {"layout", {0x03, 0x01}, 5},
  };
  for (const Part& part : parts) {
    SCOPED_TRACE(part.name);
    {
      Hdf5File file(folder_ / "a.h5");
      write_good(file);
    }
    replace(folder_ / "a.h5", part.begins, part.version);
    EXPECT_THAT(refusal(folder_ / "a.h5"), HasAll("version", "of a newer HDF5 library than the"));
  }
}

// Filters of a dataset and the message that refuses them.
struct Filters {
  std::function<void(hid_t layout)> set;
  const char* says;
};

TEST_F(UntrustedHdf5, UnsupportedFiltersAreNamed) {
  constexpr H5Z_filter_t lzf = 32000;  // h5py's compression='lzf'
  constexpr hsize_t chunk[] = {2};
  const std::vector<Filters> refused = {
      {[](hid_t layout) { H5Pset_filter(layout, lzf, H5Z_FLAG_OPTIONAL, 0, nullptr); },
       "train/labels: is packed by the filter 32000"},
      {[](hid_t layout) { H5Pset_nbit(layout); }, "filter 5 ('nbit')"},
      {[](hid_t layout) { H5Pset_scaleoffset(layout, H5Z_SO_INT, 0); }, "filter 6"},
      {[](hid_t layout) { H5Pset_deflate(layout, 1), H5Pset_deflate(layout, 1); },
       "gzip is followed by filter 1"},
      {[](hid_t layout) { H5Pset_deflate(layout, 1), H5Pset_shuffle(layout); },
       "gzip is followed by filter 2"},
  };
  for (const Filters& filters : refused) {
    {
      Hdf5File file(folder_ / "a.h5");
      write_good(file);
      drop(file.id(), "train/labels");
      file.make<int32_t>("train/labels", 40, [&](hid_t layout, hid_t) {
        filters.set(layout);
        return H5Pset_chunk(layout, 1, chunk);
      });
      file.fill<int32_t>("train/labels", std::vector<int32_t>(40));
    }
    EXPECT_THAT(refusal(folder_ / "a.h5"), HasAll("train/labels", filters.says));
  }
}

int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

// A chunk of 4 MiB whose gzip data inflate to 384 MiB: libhdf5 would allocate twice as much.
TEST_F(UntrustedHdf5, ChunksThatInflateBeyondTheirSizeAreRefused) {
  constexpr hsize_t rows = 64, row = 1 << 16;
  {
    Hdf5File file(folder_ / "a.h5");
    for (std::string split : {"train", "test"}) {
      file.put(split + "/images", {rows, 256, 256, 1}, pattern(rows * row), rows, 1);
      file.put<int32_t>(split + "/labels", {rows}, std::vector<int32_t>(rows));
    }
    h5::Handle images(H5Dopen2(file.id(), "train/images", H5P_DEFAULT), H5Dclose, "open");
    Bytes bomb = packed(size_t{384} << 20, 0, zlib_format);
    const hsize_t first[4] = {};
    h5::check(H5Dwrite_chunk(images, H5P_DEFAULT, 0, first, bomb.size(), bomb.data()), "write");
  }
  int64_t before = peak_memory();
  EXPECT_THAT(refusal(folder_ / "a.h5"),
              HasAll("train/images: the chunk from row 0 on unpacks to more than the "
                     "4194304 bytes that it holds"));
  EXPECT_LT(peak_memory() - before, 256 << 20);
}

// The checking program is replaced by scripts that end in each way in which libhdf5 may end.
class Hdf5CheckTest : public testing::Test {
 protected:
  Hdf5CheckTest() {
    Hdf5File file(folder / "a.h5");
    write_good(file, 8, 4);
  }
  ~Hdf5CheckTest() override { unsetenv("SPIRE_HDF5_CHECK"); }
  void use(const std::string& script) {
    fs::path path = folder / "check";
    write_text(path, "#!/bin/sh\n" + script + "\n");
    fs::permissions(path, fs::perms::owner_all);
    setenv("SPIRE_HDF5_CHECK", path.c_str(), 1);
  }
  void check() { check_hdf5_file(folder / "a.h5", Hdf5Config{}); }

  Folder folder;
};

TEST_F(Hdf5CheckTest, TheVerdictOfTheProgramDecides) {
  use("printf +");
  EXPECT_NO_THROW(check());
  use(R"(printf -- '-%s: no dataset %s %s %s %s' "$@")");
  EXPECT_EQ(message_of(Category::data, [&] { check(); }),
            (folder / "a.h5").string() + ": no dataset auto auto auto auto");
}

TEST_F(Hdf5CheckTest, AProgramThatEndsWithoutAVerdictRefusesTheFile) {
  struct End {
    const char* script;
    const char* says;
  };
  for (const End& end : {End{"kill -SEGV $$", "crashes (Segmentation fault)"},
                         {"kill -ABRT $$", "crashes (Aborted)"},
                         {"kill -XCPU $$", "does not come back"},
                         {"kill -ALRM $$", "does not come back"},
                         {"printf + ; kill -SEGV $$", "crashes"},
                         {"exit 0", "ends the program"},
                         {"exit 4", "ends the program"},
                         {"printf + ; exit 4", "ends the program"},
                         {"printf nonsense", "ends the program"}}) {
    use(end.script);
    EXPECT_THAT(message_of(Category::data, [&] { check(); }),
                HasAll((folder / "a.h5").string(), end.says, "get an intact copy"))
        << end.script;
  }
}

TEST_F(Hdf5CheckTest, ANamedProgramThatIsMissingIsAnError) {
  setenv("SPIRE_HDF5_CHECK", (folder / "none").c_str(), 1);
  EXPECT_THAT(message_of(Category::device, [&] { check(); }),
              HasSubstr((folder / "none").string() + ": cannot be started"));
}

TEST_F(Hdf5CheckTest, AProgramThatCannotRunIsNotCalledDamage) {
  struct End {
    const char* script;
    std::vector<const char*> says;
  };
  for (const End& end :
       {End{"exit 126", {"cannot run (exit 126)", "reinstall it", "SPIRE_HDF5_CHECK"}},
        {"printf + ; exit 127", {"cannot run (exit 127)"}},
        {"kill -KILL $$", {"was killed, by hand or for want of memory", "a.h5"}}}) {
    use(end.script);
    std::string message = message_of(Category::device, [&] { check(); });
    EXPECT_THAT(message, HasSubstr((folder / "check").string()));
    for (const char* says : end.says) EXPECT_THAT(message, HasSubstr(says));
    EXPECT_THAT(message, Not(HasSubstr("damaged")));
  }
}

TEST_F(Hdf5CheckTest, TheExitCodeIsTheCategory) {
  for (Category category : {Category::unexpected, Category::config, Category::device,
                            Category::data, Category::out_of_memory}) {
    use(fmt::format("printf -- '-found'; exit {}", static_cast<int>(category)));
    EXPECT_EQ(message_of(category, [&] { check(); }), "found");
  }
}

// Longer than a pipe's buffer: the program ends only if all is read.
TEST_F(Hdf5CheckTest, ALongMessageIsTruncated) {
  use(R"(printf -; head -c 1000000 /dev/zero | tr '\0' x; exit 4)");
  EXPECT_EQ(message_of(Category::data, [&] { check(); }), std::string((1 << 16) - 1, 'x'));
}

TEST_F(Hdf5CheckTest, TheSecretOfTheRunIsNotPassedOn) {
  setenv("SPIRE_SECRET", "sixteen letters!", 1);
  setenv("SPIRE_SECRET_FILE", "/nowhere", 1);
  setenv("SPIRE_OTHER", "kept", 1);
  use(R"(printf -- "-$(env | grep -c ^SPIRE_SECRET) $SPIRE_OTHER"; exit 4)");
  EXPECT_EQ(message_of(Category::data, [&] { check(); }), "0 kept");
  for (const char* name : {"SPIRE_SECRET", "SPIRE_SECRET_FILE", "SPIRE_OTHER"}) unsetenv(name);
}

TEST_F(Hdf5CheckTest, WithoutTheProgramANoteSaysSo) {
  EXPECT_THAT(open("hdf5", folder / "a.h5").notes,
              ElementsAre(HasAll((folder / "a.h5").string(), "read unchecked", "spire-hdf5-check",
                                 "SPIRE_HDF5_CHECK")));
  use("printf +");
  EXPECT_THAT(open("hdf5", folder / "a.h5").notes, IsEmpty());
}

// The file that is read must be the one that was checked.
TEST_F(Hdf5CheckTest, AFileReplacedAfterTheCheckIsRefused) {
  use(R"(cp "$1" "$1.new"; mv "$1.new" "$1"; printf +)");
  EXPECT_THAT(refusal(folder / "a.h5"), HasSubstr("another file has taken its place"));
}

#ifdef CHECKING_PROGRAM
TEST_F(Hdf5CheckTest, TheRealProgramAcceptsAndRefuses) {
  setenv("SPIRE_HDF5_CHECK", CHECKING_PROGRAM, 1);
  EXPECT_EQ(open("hdf5", folder / "a.h5").train->count(), 40);
  { Hdf5File(folder / "b.h5").put<uint8_t>("x", {2, 2, 2}, pattern(8)); }
  EXPECT_THAT(refusal(folder / "b.h5"), HasSubstr("no dataset 'train/images'; it has: 'x'"));
}

// Files to predict for are read in the program, too, without a target or with one.
TEST_F(Hdf5CheckTest, TheRealProgramReadsSamplesToPredictFor) {
  setenv("SPIRE_HDF5_CHECK", CHECKING_PROGRAM, 1);
  EXPECT_NO_THROW(check_hdf5_samples(folder / "a.h5", {}));
  { Hdf5File(folder / "b.h5").put<float>("features", {2, 2}, {1, 2, 3, 4}); }
  EXPECT_NO_THROW(check_hdf5_samples(folder / "b.h5", {}));
  { Hdf5File(folder / "c.h5").put<float>("x", {2, 2}, {1, 2, 3, 4}); }
  EXPECT_THAT(message_of(Category::data, [&] { check_hdf5_samples(folder / "c.h5", {}); }),
              HasSubstr("c.h5: has no dataset images, features or tokens"));
  EXPECT_NO_THROW(check_hdf5_samples(folder / "c.h5", {"x", "auto"}));
}

// Opening a link to a FIFO would block, and opening damaged datasets may crash.
TEST_F(Hdf5CheckTest, UnusedDatasetsAreNamedButNotOpened) {
  ASSERT_EQ(mkfifo((folder / "other.h5").c_str(), 0600), 0);
  {
    Hdf5File file(folder / "a.h5");
    write_good(file);
    external(file.id(), "/x", "train/external");
    soft(file.id(), "/nowhere", "train/soft");
    file.put<float>("train/damaged", {7, 3}, std::vector<float>(21));
  }
  replace(folder / "a.h5", {0x01, 0x02, 0x01, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}, 9);
  auto notes = [&] { return open("hdf5", folder / "a.h5").notes; };
  auto unused = HasSubstr("a.h5: 'train/damaged' not used: this run reads 'test/features', ");
  EXPECT_THAT(notes(), Contains(unused));
  setenv("SPIRE_HDF5_CHECK", CHECKING_PROGRAM, 1);
  EXPECT_THAT(notes(), ElementsAre(unused));
}

// Files of h5py in the old form with some bytes changed. libhdf5 1.10.8 crashes or hangs on them;
// other versions may report an error.
TEST_F(Hdf5CheckTest, DamageThatCrashesLibhdf5IsAnErrorOfTheFile) {
  use(fmt::format("ulimit -S -t 1; exec {} \"$@\"", CHECKING_PROGRAM));  // one second is enough
  int files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(DATA_FOLDER) / "damaged_hdf5")) {
    SCOPED_TRACE(entry.path());
    std::string damaged = InputFile(entry.path()).read_text(1 << 20);
    write_text(folder / "b.h5", damaged);
    EXPECT_THAT(refusal(folder / "b.h5"), HasSubstr((folder / "b.h5").string()));
    ++files;
  }
  EXPECT_GT(files, 0);
}
#endif

}  // namespace
}  // namespace spire
