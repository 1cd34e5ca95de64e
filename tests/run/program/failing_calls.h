// Kinds of calls that failing_calls.cpp counts and lets fail.
#pragma once
#include <cstddef>

namespace spire {

enum class Call {
  open,
  read,
  write,
  fsync,
  rename,
  mkdir,
  opendir,
  readdir,
  socket,
  accept,
  thread
};
inline constexpr size_t test_calls = 11;
inline constexpr const char* call_names[test_calls] = {"open",   "read",   "write",   "fsync",
                                                       "rename", "mkdir",  "opendir", "readdir",
                                                       "socket", "accept", "thread"};

}  // namespace spire
