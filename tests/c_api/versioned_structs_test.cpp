#include "engine/c_api/versioned_structs.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

namespace spire {
namespace {

// A struct as a program of version 1 has it, and as the library has it in a later one.
struct FirstOfTwo {
  size_t size;
  int64_t kept;
};
struct GrownStruct {
  size_t size;
  int64_t kept;
  double added;
};

}  // namespace

VERSIONED(GrownStruct, sizeof(FirstOfTwo))

namespace {

using testing::ElementsAre;
using testing::Field;
using testing::ThrowsMessage;

std::vector<GrownStruct> read(const std::vector<FirstOfTwo>& structs) {
  std::vector<GrownStruct> copies;
  for (size_t i = 0; i < structs.size(); ++i)
    copies.push_back(
        whole_element(reinterpret_cast<const GrownStruct*>(structs.data()), i, "f", "list"));
  return copies;
}

TEST(VersionedStructs, MembersThatAProgramDoesNotKnowAre0) {
  std::vector<FirstOfTwo> old = {{sizeof(FirstOfTwo), 5}};
  GrownStruct read = whole(reinterpret_cast<const GrownStruct*>(old.data()));
  EXPECT_EQ(read.kept, 5);
  EXPECT_EQ(read.added, 0);
  GrownStruct present{sizeof(GrownStruct), 6, 0.5};
  EXPECT_EQ(whole(&present).added, 0.5);
  EXPECT_EQ(whole<GrownStruct>(nullptr).kept, 0);
}

TEST(VersionedStructs, ElementsOfAnArrayLieAsFarApartAsTheProgramSays) {
  std::vector<FirstOfTwo> old = {{16, 1}, {16, 2}, {16, 3}};
  EXPECT_THAT(read(old),
              ElementsAre(Field(&GrownStruct::kept, 1), Field(&GrownStruct::kept, 2),
                          AllOf(Field(&GrownStruct::kept, 3), Field(&GrownStruct::added, 0))));
  std::vector<GrownStruct> present = {{24, 1, 0.25}, {24, 2, 0.5}};
  EXPECT_EQ(whole_element(present.data(), 0, "f", "list").added, 0.25);
  EXPECT_EQ(whole_element(present.data(), 1, "f", "list").added, 0.5);
}

TEST(VersionedStructs, NothingIsWrittenBehindWhatAProgramHas) {
  std::vector<FirstOfTwo> old = {{16, 0}, {77, 78}};
  fill(reinterpret_cast<GrownStruct*>(old.data()), {sizeof(GrownStruct), 5, 2.5});
  EXPECT_EQ(old[0].size, 16u);
  EXPECT_EQ(old[0].kept, 5);
  EXPECT_EQ(old[1].size, 77u);
  GrownStruct present{sizeof(GrownStruct), 0, 0};
  fill(&present, {sizeof(GrownStruct), 5, 2.5});
  EXPECT_EQ(present.added, 2.5);
  fill<GrownStruct>(nullptr, {});
}

TEST(VersionedStructs, OtherSizesAreRefused) {
  auto check = [](size_t size) {
    return [size] { check_size(size, sizes_of<GrownStruct>, "f", "s", "->size"); };
  };
  EXPECT_NO_THROW(check(16)());
  EXPECT_NO_THROW(check(24)());
  EXPECT_THAT(check(0), ThrowsMessage<Error>("f: s->size is 0; set it to sizeof(GrownStruct)"));
  EXPECT_THAT(check(8), ThrowsMessage<Error>("f: s->size is 8; set it to sizeof(GrownStruct)"));
  EXPECT_THAT(check(20), ThrowsMessage<Error>("f: s->size is 20; set it to sizeof(GrownStruct)"));
  EXPECT_THAT(check(32), ThrowsMessage<Error>(
                             "f: s->size is 32; set it to sizeof(GrownStruct), which is 24 in this "
                             "library: install one as new as the program's <spire/c.h>"));
  EXPECT_THAT(
      [] {
        read({{16, 1}, {24, 2}});
      },
      ThrowsMessage<Error>("f: list[1].size is 24, but that of list[0] is 16; set all to "
                           "sizeof(GrownStruct)"));
  EXPECT_THAT(
      [] {
        read({{0, 1}});
      },
      ThrowsMessage<Error>("f: list[0].size is 0; set it to sizeof(GrownStruct)"));
}

}  // namespace
}  // namespace spire
