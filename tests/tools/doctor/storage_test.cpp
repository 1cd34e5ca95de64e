#include <unistd.h>

#include "engine/base/hdf5.h"
#include "tests/base/file_size_limit.h"
#include "tests/device/system_files.h"
#include "tests/run/machine/findings.h"
#include "tools/doctor/checks.h"

namespace spire {
namespace {

using testing::ElementsAre;
namespace fs = std::filesystem;

constexpr TrialLimits small{.bytes = uint64_t{1} << 20, .seconds = 10};

TEST(DiskCheck, TriesTheFolderAndLeavesNothing) {
  SystemFiles system;
  DiskTrial trial = try_disk(system.root() / "runs" / "new", small);
  EXPECT_EQ(trial.problem, "");
  EXPECT_EQ(trial.folder, system.root());
  EXPECT_GT(trial.written_per_s, 0);
  EXPECT_GT(trial.read_per_s, 0);
  EXPECT_TRUE(fs::is_empty(system.root()));
  trial.written_per_s = 1e9;
  EXPECT_THAT(check_disk(trial, CheckpointNeed{1, 1}),
              ElementsAre(good("disk_space", "a checkpoint takes 1 B, 2 of them 2 B"),
                          good("disk_speed", "1.0 GB/s written")));
}

TEST(DiskCheck, FailsWhereNothingCanBeWritten) {
  Findings findings = check_disk(try_disk("/proc", small), {});
  EXPECT_THAT(findings.back(), fails("disk_speed", "no file can be made in /proc"));
}

// A limit on the size of files cuts the first write short, and the next one fails.
TEST(DiskCheck, FailsWhereAWriteIsCutShort) {
  SystemFiles system;
  FileSizeLimit limit(small.bytes / 2);
  EXPECT_THAT(check_disk(try_disk(system.root(), small), {}).back(),
              fails("disk_speed",
                    "cannot be written to: File too large: this process may write files of "
                    "524288 bytes (ulimit -f); raise that limit, after 512.0 KiB"));
}

TEST(DiskCheck, WarnsOfASlowOrFullDisk) {
  DiskTrial trial{.folder = "runs",
                  .problem = "",
                  .space = FileSystemSpace{gib, gib / 2},
                  .written_per_s = 5e6,
                  .read_per_s = 2e9};
  EXPECT_THAT(check_disk(trial, {}), ElementsAre(warns("disk_space", "set output to another disk"),
                                                 warns("disk_speed", "5 MB/s written, 2.0 GB/s")));
  trial.space.reset();
  EXPECT_THAT(check_disk(trial, {})[0], good("disk_space", "does not tell"));
}

TEST(ExistingFolder, IsTheNearestAbove) {
  SystemFiles system;
  system.file("a/file", "");
  EXPECT_EQ(existing_folder(system.root() / "a/b/c"), system.root() / "a");
  EXPECT_EQ(existing_folder(system.root() / "a/file/c"), system.root() / "a");
  EXPECT_EQ(existing_folder("/"), "/");
}

TEST(Hdf5Check, ReadsAFileOfItsOwnAndLeavesNothing) {
  SystemFiles system;
  Hdf5Trial trial = try_made_hdf5(system.root(), small);
  EXPECT_EQ(trial.problem, "");
  // Whole images within the limit, in blocks of whole chunks.
  EXPECT_EQ(trial.bytes, small.bytes / (28 * 28) * (28 * 28));
  EXPECT_TRUE(fs::is_empty(system.root()));
  trial.seconds = 1e-4;
  EXPECT_THAT(check_hdf5(trial), good("hdf5", "a file made for this, images"));
  trial.seconds = 1;
  EXPECT_THAT(check_hdf5(trial), warns("hdf5", "1 MB/s read in order"));
}

TEST(Hdf5Check, ReadsTheLargestDatasetOfNumbers) {
  SystemFiles system;
  fs::path path = system.root() / "data.h5";
  {
    h5::Session session;
    using h5::Handle;
    Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, "make");
    Handle group(H5Gcreate2(file, "train", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
                 "make");
    for (auto [name, rows] : {std::pair("labels", hsize_t{50}), {"images", hsize_t{400}}}) {
      const hsize_t shape[] = {rows, 3};
      Handle space(H5Screate_simple(2, shape, nullptr), H5Sclose, "make");
      Handle set(
          H5Dcreate2(group, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
          H5Dclose, "make");
      std::vector<float> values(rows * 3, 1.5F);
      h5::check(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
                "write");
    }
  }
  Hdf5Trial trial = try_hdf5(path, small);
  EXPECT_EQ(trial.problem, "");
  EXPECT_EQ(trial.what, path.string() + ", train/images");
  EXPECT_EQ(trial.bytes, 400u * 3 * 4);
}

TEST(Hdf5Check, FailsForAFileThatIsNone) {
  SystemFiles system;
  system.file("data.h5", "no HDF5");
  EXPECT_THAT(check_hdf5(try_hdf5(system.root() / "data.h5", small)), fails("hdf5", "data.h5: "));
  EXPECT_THAT(check_hdf5({.what = "empty.h5", .problem = ""}), good("hdf5", "no rows of numbers"));
}

}  // namespace
}  // namespace spire
