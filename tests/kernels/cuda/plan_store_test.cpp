#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <tests/base/message_of.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "kernels/cuda/tuning.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

class PlanStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder); }
  void TearDown() override { fs::remove_all(folder); }

  fs::path only_file() const { return fs::directory_iterator(folder)->path(); }
  static std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder = fs::temp_directory_path() / ("spire_plans_" + std::to_string(::getpid()));
  const std::string name = "an H100, convolution, engine 1";
  const std::string plan = "{\"code\": \"\n\t\"}";
};

TEST_F(PlanStoreTest, ThePlansOfARunAreFoundByTheNext) {
  PlanStore first(folder);
  EXPECT_FALSE(first.find(name));
  first.keep(name, plan);
  first.keep("another", "plan");
  EXPECT_EQ(first.find(name), plan);
  first.write();
  EXPECT_FALSE(first.has_new());
  PlanStore next(folder);
  EXPECT_EQ(next.find(name), plan);
  EXPECT_EQ(next.find("another"), "plan");
  EXPECT_FALSE(next.find("a third"));
  EXPECT_EQ(next.found(), 2u);
  EXPECT_EQ(next.damaged(), 0u);
}

TEST_F(PlanStoreTest, ADamagedFileIsNoPlan) {
  PlanStore first(folder);
  first.keep(name, plan);
  first.write();
  fs::path path = only_file();
  const std::string whole = content(path);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    std::ofstream(path, std::ios::binary) << damaged;
    PlanStore next(folder);
    EXPECT_FALSE(next.find(name)) << "byte " << i;
    EXPECT_EQ(next.damaged(), 1u);
    std::ofstream(path, std::ios::binary) << whole.substr(0, i);
    EXPECT_FALSE(PlanStore(folder).find(name)) << "cut to " << i;
  }
}

// Names are hashed to file names; the file also holds the name itself.
TEST_F(PlanStoreTest, AFileOfAnotherNameIsNoPlan) {
  PlanStore first(folder);
  first.keep("another", plan);
  first.write();
  fs::path other = only_file();
  PlanStore second(folder);
  second.keep(name, plan);
  second.write();
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path() != other)
      fs::copy_file(other, entry.path(), fs::copy_options::overwrite_existing);
  PlanStore next(folder);
  EXPECT_FALSE(next.find(name));
  EXPECT_EQ(next.find("another"), plan);
}

TEST_F(PlanStoreTest, WithoutAFolderNothingIsKept) {
  PlanStore store;
  store.keep(name, plan);
  EXPECT_FALSE(store.has_new());
  store.write();
  EXPECT_FALSE(store.find(name));
}

// The oldest files are removed first.
TEST_F(PlanStoreTest, TheFolderDoesNotGrowBeyondItsLimit) {
  const std::string large(size_t{3} << 20, 'x');  // 256 MiB have room for 85
  for (int batch = 0; batch < 4; ++batch) {
    PlanStore store(folder);
    for (int i = 0; i < 30; ++i) store.keep(fmt::format("{} {}", batch, i), large);
    store.write();
  }
  uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) bytes += entry.file_size();
  EXPECT_LE(bytes, (uintmax_t{256} << 20) + (uintmax_t{1} << 20));
  PlanStore next(folder);
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(next.find(fmt::format("3 {}", i))) << i;
}

TEST_F(PlanStoreTest, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder) << "a file";
  PlanStore store(folder / "plans");
  store.keep(name, plan);
  EXPECT_THAT(message_of(Category::config, [&] { store.write(); }),
              ::testing::HasSubstr((folder / "plans").string()));
}

}  // namespace
}  // namespace spire
