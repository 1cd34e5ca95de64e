#include <gtest/gtest.h>
#include <spire/base/thread.h>

#include <pthread.h>

#include <latch>

namespace spire {
namespace {

using Cores = std::vector<int>;

std::string name_of(std::jthread& thread) {
  char name[32] = {};
  pthread_getname_np(thread.native_handle(), name, sizeof name);
  return name;
}

// What a thread finds at its first statement: its own name and cores.
struct Found {
  std::string name;
  Cores cores;
};
Found found_by(ThreadPlace place) {
  Found found;
  start_thread(std::move(place), [&] {
    char name[32] = {};
    pthread_getname_np(pthread_self(), name, sizeof name);
    found = {name, allowed_cores()};
  }).join();
  return found;
}

TEST(Thread, HasItsNameWhenItsStarterGoesOn) {
  std::latch asked(1);
  std::jthread thread = start_thread({"reader 2", {}}, [&] { asked.wait(); });
  EXPECT_EQ(name_of(thread), "reader 2");
  asked.count_down();
}

TEST(Thread, LongNamesLoseTheirEnd) {
  EXPECT_EQ(found_by({"a name of twenty two c", {}}).name, "a name of twent");
}

// Also where the thread that starts it is kept to one core.
TEST(Thread, RunsOnItsCoresWhereverItsStarterRuns) {
  const Cores all = allowed_cores();
  for (int core : {all.front(), all.back()}) {
    EXPECT_EQ(found_by({"one", {core}}).cores, Cores{core});
    Cores inside;
    start_thread({"pinned", {core}}, [&] { inside = found_by({"free", all}).cores; }).join();
    EXPECT_EQ(inside, all);
  }
}

TEST(Thread, StaysWithItsStarterWithoutCoresOrWithImpossibleOnes) {
  EXPECT_EQ(found_by({"no cores", {}}).cores, allowed_cores());
  EXPECT_EQ(found_by({"core 1023", {1023}}).cores, allowed_cores());
}

}  // namespace
}  // namespace spire
