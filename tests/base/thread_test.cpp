#include "engine/base/thread.h"

#include <cerrno>
#include <latch>

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include "engine/base/system.h"
#include "tests/base/message_of.h"
#include "tests/base/no_threads.h"

namespace spire {
namespace {

using Cores = std::vector<int>;

std::string name_of(std::jthread& thread) {
  char name[32] = {};
  pthread_getname_np(thread.native_handle(), name, sizeof name);
  return name;
}

// The name and cores that a thread has at its first statement.
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

TEST(Thread, HasItsNameWhenStartThreadReturns) {
  std::latch asked(1);
  std::jthread thread = start_thread({"reader 2", {}}, [&] { asked.wait(); });
  EXPECT_EQ(name_of(thread), "spire reader 2");
  asked.count_down();
}

TEST(Thread, LongNamesLoseTheirEnd) {
  EXPECT_EQ(found_by({"a name of twenty two c", {}}).name, "spire a name of");
}

// Signals of the process go to threads of the program; faults and profilers to the thread itself.
TEST(Thread, BlocksSignalsOfTheProcess) {
  sigset_t before, within, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  start_thread({"one", {}}, [&] { pthread_sigmask(SIG_SETMASK, nullptr, &within); }).join();
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal : {SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGUSR1, SIGPIPE}) {
    EXPECT_EQ(sigismember(&within, signal), 1) << signal;
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
  }
  for (int signal : {SIGSEGV, SIGPROF}) EXPECT_EQ(sigismember(&within, signal), 0) << signal;
}

// The thread that starts it may itself be pinned to one core.
TEST(Thread, RunsOnItsCoresWhereverItsStarterRuns) {
  const Cores all = allowed_cores();
  for (int core : {all.front(), all.back()}) {
    EXPECT_EQ(found_by({"one", {core}}).cores, Cores{core});
    Cores inside;
    start_thread({"pinned", {core}}, [&] { inside = found_by({"free", all}).cores; }).join();
    EXPECT_EQ(inside, all);
  }
}

TEST(Thread, KeepsTheStartersCoresIfItsOwnAreMissingOrImpossible) {
  EXPECT_EQ(found_by({"no cores", {}}).cores, allowed_cores());
  EXPECT_EQ(found_by({"core 1023", {1023}}).cores, allowed_cores());
}

TEST(Thread, FailsToStartWithAMessageThatNamesTheLimits) {
  NoThreads none;
  for (const std::string& message :
       {message_of(Category::device,
                   [] {
                     start_thread({"reader 2", {}}, [] {});
                   }),
        message_of(Category::device, [] { prove_threads(3, "reader 2"); })}) {
    EXPECT_NE(message.find("refused to start thread 'reader 2'"), std::string::npos) << message;
    EXPECT_NE(message.find("(ulimit -u)"), std::string::npos) << message;
  }
}

TEST(Thread, ProvesAnyCount) {
  for (int count : {0, 1, 8}) prove_threads(count, "proof");
}

TEST(SystemLimits, AReasonNamesTheLimitOnOpenFiles) {
  EXPECT_NE(system_reason(EMFILE).find("(ulimit -n)"), std::string::npos);
  EXPECT_NE(system_reason(ENFILE).find("fs.file-max"), std::string::npos);
  EXPECT_EQ(system_reason(ENOENT), "No such file or directory");
  EXPECT_EQ(system_reason(EFBIG), "File too large");  // for the file system, as nothing limits it
  for (int error : {EMFILE, ENFILE})
    EXPECT_EQ(category_of(error, Category::data), Category::device);
  EXPECT_EQ(category_of(ENOENT, Category::data), Category::data);
}

TEST(OwnFile, IsTheProgramThatHasTheCode) {
  EXPECT_EQ(own_file(), std::filesystem::read_symlink("/proc/self/exe"));
}

}  // namespace
}  // namespace spire
