// A limit on open files (ulimit -n), for the time of a test.
#pragma once
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "engine/base/fail.h"
#include "tests/base/message_of.h"

namespace spire {

// Keeps this process from opening descriptor `first` and those above it.
class FileLimit {
 public:
  // UBSan opens a pipe to look at an object of a type that is new to it, so it meets Error before.
  explicit FileLimit(int first) {
    message_of(Category::device, [] { fail(Category::device, "there is room"); });
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit limit = {static_cast<rlim_t>(first), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  ~FileLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace spire
