// Where the program that reads checkpoints first is looked for, and what is said where there is
// none.
#include <cstdlib>

#include <gmock/gmock.h>

#include "engine/base/hdf5_program.h"
#include "engine/checkpoint/checkpoint_file.h"
#include "engine/checkpoint/checkpoint_locator.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace spire {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class UncheckedCheckpoint : public CheckpointTest {
 protected:
  ~UncheckedCheckpoint() override { unsetenv("SPIRE_HDF5_CHECK"); }

  std::vector<std::string> warnings_of_loading() {
    std::vector<std::string> warnings;
    load_named(path.string(), folder, Prefer::newest,
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
