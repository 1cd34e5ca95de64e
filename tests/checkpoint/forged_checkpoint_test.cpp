// Checkpoints whose checksums are right and whose contents no run wrote; where the program that
// reads checkpoints first is looked for, and what is said where there is none.
#include <cstdlib>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "engine/base/hash.h"
#include "engine/base/hdf5_program.h"
#include "engine/checkpoint/checkpoint_file.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace spire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ForgedCheckpoint : public CheckpointTest {
 protected:
  ForgedCheckpoint() { write_checkpoint(path, sample_state()); }
  ~ForgedCheckpoint() override { unsetenv("SPIRE_HDF5_CHECK"); }

  // Lets a script take the place of spire-hdf5-check.
  void use(const std::string& script) {
    write_bytes(folder / "check", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(folder / "check", std::filesystem::perms::owner_all);
    setenv("SPIRE_HDF5_CHECK", (folder / "check").c_str(), 1);
  }

  // Makes the header's checksums those of the file.
  void mend() {
    Header header = read_header(CheckpointBytes(path));
    std::string bytes = content_of(path);
    Hash64 structure;
    uint64_t at = header.block;
    for (TensorExtent& extent : header.extents) {
      structure.add(bytes.data() + at, extent.offset - at);
      extent.checksum = hex(hash64(bytes.data() + extent.offset, extent.bytes));
      at = extent.offset + extent.bytes;
    }
    structure.add(bytes.data() + at, header.file_bytes - at);
    header.structure = hex(structure.value());
    write_bytes(path, to_text(header) + bytes.substr(header.block));
  }

  std::filesystem::path path = folder / "step_00000001.h5";
};

TEST_F(ForgedCheckpoint, AProgramReadsItFirstAndItsEndDecides) {
  use("[ \"$#\" = 1 ] && [ \"$1\" = '" + path.string() + "' ] && printf +");
  EXPECT_EQ(read_checkpoint(path).step, 1234);
  use("kill -SEGV $$");
  EXPECT_THAT(checkpoint_error([&] { read_checkpoint(path); }),
              AllOf(HasSubstr(path.string() + ": the HDF5 library crashes (Segmentation fault)"),
                    HasSubstr("get an intact copy")));
  use("kill -XCPU $$");
  EXPECT_THAT(checkpoint_error([&] { read_checkpoint(path); }), HasSubstr("does not come back"));
}

TEST_F(ForgedCheckpoint, ADamagedOneIsRefusedBeforeTheProgramIsAsked) {
  use("kill -SEGV $$");
  std::string bytes = content_of(path);
  bytes.back() ^= 1;
  write_bytes(path, bytes);
  EXPECT_THAT(checkpoint_error([&] { read_checkpoint(path); }), HasSubstr("fails its checksum"));
}

#ifdef CHECKING_PROGRAM
// Bytes of the structure are replaced: libhdf5 alone would crash on some of these files.
TEST_F(ForgedCheckpoint, AnyStructureIsReadOrRefused) {
  setenv("SPIRE_HDF5_CHECK", CHECKING_PROGRAM, 1);
  EXPECT_EQ(read_checkpoint(path).step, 1234);
  std::string good = content_of(path);
  RandomStream random(7, Purpose::shuffle);
  int refused = 0;
  for (uint32_t i = 0; i < 60; ++i) {
    std::string forged = good;
    uint64_t block = read_header(CheckpointBytes(path)).block;
    for (uint32_t k = 0; k < 8; ++k) {
      size_t at = block + random.below(100 * i + 2 * k, static_cast<uint32_t>(good.size() - block));
      forged[at] = static_cast<char>(random.bits(100 * i + 2 * k + 1));
    }
    write_bytes(path, forged);
    mend();
    try {
      read_checkpoint(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::checkpoint) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
}
#endif

TEST_F(ForgedCheckpoint, NumbersThatNoRunWritesAreNamed) {
  struct Forgery {
    std::function<void(TrainingState&)> change;
    const char* says;
  };
  for (const Forgery& each :
       {Forgery{[](auto& s) { s.tower_threads = 1'000'000'000; },
                "its tower_threads is 1000000000, expected 1 to 1024"},
        {[](auto& s) { s.tower_threads = 0; }, "its tower_threads is 0, expected 1 to 1024"},
        {[](auto& s) { s.towers = 4097; }, "its towers is 4097, expected 1 to 4096"},
        {[](auto& s) { s.batch_size = -1; }, "its batch_size is -1, expected 1 to 1000000"},
        {[](auto& s) { s.step = -1; }, "its step is -1, expected 0"},
        {[](auto& s) { s.epoch = std::numeric_limits<int64_t>::min(); }, "its epoch is"},
        {[](auto& s) { s.samples_seen = std::numeric_limits<int64_t>::max(); },
         "its samples_seen is 9223372036854775807"},
        {[](auto& s) { s.best_step = -2; }, "its best_step is -2, expected -1"},
        {[](auto& s) { s.early_stop.waited = -2; }, "its waited_evaluations is -2"},
        {[](auto& s) { s.loss_scale = 0; }, "its loss_scale is 0, expected a positive number"},
        {[](auto& s) { s.loss_scale = std::numeric_limits<double>::quiet_NaN(); },
         "its loss_scale is nan"}}) {
    TrainingState state = sample_state();
    each.change(state);
    write_checkpoint(path, state);
    EXPECT_THAT(checkpoint_error([&] { read_checkpoint(path); }),
                AllOf(HasSubstr(path.string()), HasSubstr(each.says)));
  }
}

// A file of a newer Spire is no damage, and no older checkpoint takes its place.
TEST_F(ForgedCheckpoint, OneOfAnotherFormatIsNamedAndNotPassedOver) {
  for (int format : {1, 3}) {
    write_checkpoint(path, sample_state());
    std::string bytes = content_of(path), two("\2\0\0\0\0\0\0\0", 8);
    size_t at = bytes.find(two, bytes.find("format"));
    ASSERT_NE(at, bytes.npos);
    bytes[at] = static_cast<char>(format);
    write_bytes(path, bytes);
    mend();
    CheckpointStore store(folder, {});
    save(store, sample_state(0));
    std::string says = "checkpoint " + path.string() + ": it has format " + std::to_string(format) +
                       ", but this program reads 2; use " + (format == 3 ? "a newer" : "an older") +
                       " version of Spire";
    EXPECT_EQ(checkpoint_error([&] { read_checkpoint(path); }), says);
    EXPECT_EQ(checkpoint_error([&] { store.newest_intact(nullptr); }), says);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
}

// libhdf5 once called the driver of files in memory after it had freed it.
TEST_F(ForgedCheckpoint, NoFreedMemoryIsUsed) {
  mallopt(M_PERTURB, 123);  // as MALLOC_PERTURB_=123: freed memory has other bytes
  for (int64_t step : {1, 2}) write_checkpoint(path, sample_state(step));
  EXPECT_EQ(read_checkpoint(path).step, 2);
  mallopt(M_PERTURB, 0);
}

using ::testing::Contains;

class UncheckedCheckpoint : public CheckpointTest {
 protected:
  ~UncheckedCheckpoint() override { unsetenv("SPIRE_HDF5_CHECK"); }

  std::vector<std::string> warnings_of_loading() {
    std::vector<std::string> warnings;
    load_named(path.string(), folder, CheckpointChoice::newest,
               [&](const auto&, const std::string& text) { warnings.push_back(text); });
    return warnings;
  }

  std::filesystem::path path = folder / "one.h5";
};

TEST_F(UncheckedCheckpoint, FromPythonTheProgramIsFoundBesideTheLibrary) {
  for (const char* own : {"/site/spire/lib/libspire.so", "/site/spire/_core.so"})
    EXPECT_THAT(h5::program_folders("/usr/bin/python3", own), Contains("/site/spire/bin")) << own;
  for (const char* own : {"/opt/lib/libspire.so", "/opt/lib/x86_64-linux-gnu/libspire.so"})
    EXPECT_THAT(h5::program_folders("/usr/bin/python3", own), Contains("/opt/bin")) << own;
  EXPECT_EQ(h5::program_folders("/opt/bin/trainer", "/opt/bin/trainer").front(), "/opt/bin");
}

TEST_F(UncheckedCheckpoint, IsWarnedOfOnceAProcess) {
  write_checkpoint(path, sample_state(1234));
  setenv("SPIRE_HDF5_CHECK", "", 1);  // none
  EXPECT_FALSE(load_checkpoint(path).checked);
  EXPECT_THAT(
      warnings_of_loading(),
      testing::ElementsAre(HasSubstr("one.h5: read unchecked, as spire-hdf5-check is not")));
  EXPECT_THAT(warnings_of_loading(), testing::IsEmpty());
}

#ifdef CHECKING_PROGRAM
TEST_F(UncheckedCheckpoint, OneThatTheProgramHasReadIsNone) {
  write_checkpoint(path, sample_state(1234));
  setenv("SPIRE_HDF5_CHECK", CHECKING_PROGRAM, 1);
  EXPECT_TRUE(load_checkpoint(path).checked);
  EXPECT_EQ(unchecked_warning(path, true), std::nullopt);
}
#endif

}  // namespace
}  // namespace spire
