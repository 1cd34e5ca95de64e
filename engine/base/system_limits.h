// Limits of the system that end a run when they are reached, in words: which one, what it is here,
// and how it is raised. Whoever has no file or no thread left must not read "Too many open files"
// and look at the file.
#pragma once
#include <string>

#include <spire/error.h>

namespace spire {

// The system's words for an error number; of one that says that this process or the system has no
// file left, with the limit's name and value and what to type.
std::string system_reason(int error);

// device where the error number says that a limit on files was reached: the same file would open
// under a higher limit. Otherwise `other`.
Category category_of(int error, Category other);

// "this user may have 63 threads and processes (ulimit -u), ...": what may have refused a thread or
// a process, and how it is raised.
std::string thread_limits();

}  // namespace spire
