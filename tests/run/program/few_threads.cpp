// Loaded before a program: its pthread_create() gives SPIRE_TEST_THREADS threads, and none after
// these, as a system does whose limit is reached.
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include <dlfcn.h>
#include <pthread.h>

namespace {

std::atomic<int> begun{0};

int most() {
  const char* text = std::getenv("SPIRE_TEST_THREADS");
  return text == nullptr ? 1 << 30 : std::atoi(text);
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (begun.fetch_add(1) >= most()) return EAGAIN;
  return create(thread, attributes, body, argument);
}
