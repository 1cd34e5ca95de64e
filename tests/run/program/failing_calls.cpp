// A library to preload into a program under test: it counts the calls by which the program asks the
// system for something, and lets one of them fail as if the system had refused.
//   SPIRE_TEST_CALLS=FILE           counters of all processes of a run, mapped: one uint64_t a kind
//   SPIRE_TEST_FAIL=KIND:ERRNO:N    the N-th call of that kind (from 1) fails with that errno
//   SPIRE_TEST_FAIL=KIND:ERRNO:N+   that call and all later ones do
// Kinds are those of failing_calls.h. Calls inside of libc and of the dynamic loader are not seen.
#include "tests/run/program/failing_calls.h"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace {

using spire::Call;
using spire::test_calls;

std::atomic<uint64_t> own_counters[test_calls];
std::atomic<uint64_t>* counters = own_counters;
Call failing{};
int error_number = 0;  // 0: none fails
uint64_t first = 0;
bool lasting = false;

void map_counters(const char* path) {
  int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC));
  if (file < 0) return;
  void* mapped = mmap(nullptr, sizeof own_counters, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) counters = static_cast<std::atomic<uint64_t>*>(mapped);
}

__attribute__((constructor)) void read_variables() {
  if (const char* path = std::getenv("SPIRE_TEST_CALLS")) map_counters(path);
  const char* text = std::getenv("SPIRE_TEST_FAIL");
  char kind[16];
  char plus = 0;
  unsigned long long n = 0;
  int number = 0;
  if (text == nullptr || std::sscanf(text, "%15[^:]:%d:%llu%c", kind, &number, &n, &plus) < 3)
    return;
  for (size_t i = 0; i < test_calls; ++i)
    if (std::strcmp(kind, spire::call_names[i]) == 0) failing = static_cast<Call>(i);
  first = n;
  lasting = plus == '+';
  error_number = number;
}

// Counts a call; true when it has to fail, and then errno is set.
bool fails(Call call) {
  uint64_t n = ++counters[static_cast<size_t>(call)];
  if (error_number == 0 || call != failing) return false;
  if (lasting ? n < first : n != first) return false;
  errno = error_number;
  return true;
}

// The function that would have been called without this library.
template <typename F>
F next(F, const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}
#define NEXT(name) next(&name, #name)

mode_t mode_of(int flags, va_list list) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(list, int)) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = mode_of(flags, list);
  va_end(list);
  return fails(Call::open) ? -1 : NEXT(open)(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = mode_of(flags, list);
  va_end(list);
  return fails(Call::open) ? -1 : NEXT(openat)(folder, path, flags, mode);
}

FILE* fopen(const char* path, const char* mode) {
  return fails(Call::open) ? nullptr : NEXT(fopen)(path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
  return fails(Call::open) ? nullptr : NEXT(fopen64)(path, mode);
}

ssize_t read(int file, void* to, size_t bytes) {
  return fails(Call::read) ? -1 : NEXT(read)(file, to, bytes);
}

ssize_t pread(int file, void* to, size_t bytes, off_t at) {
  return fails(Call::read) ? -1 : NEXT(pread)(file, to, bytes, at);
}

size_t fread(void* to, size_t size, size_t count, FILE* file) {
  return fails(Call::read) ? 0 : NEXT(fread)(to, size, count, file);
}

ssize_t write(int file, const void* from, size_t bytes) {
  return fails(Call::write) ? -1 : NEXT(write)(file, from, bytes);
}

ssize_t writev(int file, const iovec* parts, int count) {
  return fails(Call::write) ? -1 : NEXT(writev)(file, parts, count);
}

ssize_t pwrite(int file, const void* from, size_t bytes, off_t at) {
  return fails(Call::write) ? -1 : NEXT(pwrite)(file, from, bytes, at);
}

size_t fwrite(const void* from, size_t size, size_t count, FILE* file) {
  return fails(Call::write) ? 0 : NEXT(fwrite)(from, size, count, file);
}

int ftruncate(int file, off_t bytes) {
  return fails(Call::write) ? -1 : NEXT(ftruncate)(file, bytes);
}

int fsync(int file) {
  return fails(Call::fsync) ? -1 : NEXT(fsync)(file);
}

int fdatasync(int file) {
  return fails(Call::fsync) ? -1 : NEXT(fdatasync)(file);
}

int rename(const char* from, const char* to) {
  return fails(Call::rename) ? -1 : NEXT(rename)(from, to);
}

int mkdir(const char* path, mode_t mode) {
  return fails(Call::mkdir) ? -1 : NEXT(mkdir)(path, mode);
}

DIR* opendir(const char* path) {
  return fails(Call::opendir) ? nullptr : NEXT(opendir)(path);
}

dirent* readdir(DIR* folder) {
  return fails(Call::readdir) ? nullptr : NEXT(readdir)(folder);
}

int socket(int domain, int type, int protocol) {
  return fails(Call::socket) ? -1 : NEXT(socket)(domain, type, protocol);
}

int accept(int listener, sockaddr* address, socklen_t* bytes) {
  return fails(Call::accept) ? -1 : NEXT(accept)(listener, address, bytes);
}

int accept4(int listener, sockaddr* address, socklen_t* bytes, int flags) {
  return fails(Call::accept) ? -1 : NEXT(accept4)(listener, address, bytes, flags);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*run)(void*), void* with) {
  return fails(Call::thread) ? errno : NEXT(pthread_create)(thread, how, run, with);
}

}  // extern "C"
