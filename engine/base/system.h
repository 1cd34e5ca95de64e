// What a program tells its user about the system, and what it does at its start. Any thread.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <spire/error.h>

namespace spire {

// Returns strerror(error); for too many open files it adds the limit to raise.
std::string system_reason(int error);

// Returns Category::device for an errno that says nothing about the file: too many open ones, or a
// disk without room. Else `other`.
Category category_of(int error, Category other);

// Lists the limits that may have refused a thread or a process: "this user may have 63 threads and
// processes (ulimit -u), ...; raise the limit, or lower data.workers and tower_threads"
std::string thread_limits();

std::string host_name();  // as gethostname(2) tells it

// Returns the path of the shared library that holds this code, or of the program if it is linked in
// statically: Spire finds its other files relative to it. In Python that is the library, whereas
// /proc/self/exe is the interpreter.
std::filesystem::path own_file();

// Keeps the calling thread, and those that it starts, on these logical CPUs, if the system allows
// that; an empty list changes nothing. May be called between fork() and exec.
void keep_to_cores(const std::vector<int>& cores);

std::string unicode_version();  // of PCRE2's tables, by which text is split: "14.0.0"

// Keeps libhdf5 from cleaning up at exit, which may wait for a disk that hangs. For programs that
// close all files that they write; call it before any other use of the library.
void leave_hdf5_open_at_exit();

}  // namespace spire
