// The functions of oneDNN that kernels call, each a jump to its place in the library, which is
// opened when the program starts and in which the library's own symbols come first: libtorch has
// another oneDNN inside, and some symbols of the two have one name, so that in one process the
// calls of this one would end in that one. Where oneDNN is an archive, or with a sanitizer, which
// cannot open a library so, the linker binds these functions, and this file is not compiled.
#include <dlfcn.h>

#include <spire/error.h>

namespace {

// A program with a sanitizer ends where a library is opened with its own symbols first.
bool has_sanitizer() {
  for (const char* start : {"__asan_init", "__tsan_init", "__msan_init"})
    if (::dlsym(RTLD_DEFAULT, start)) return true;
  return false;
}

void* library() {
  static void* opened = [] {
    int mode = RTLD_NOW | RTLD_LOCAL | (has_sanitizer() ? 0 : RTLD_DEEPBIND);
    void* found = ::dlopen(SPIRE_ONEDNN_NAME, mode);
    return found ? found : ::dlopen(SPIRE_ONEDNN_FILE, mode);
  }();
  return opened;
}

[[noreturn]] void missing() {
  spire::fail(spire::Category::device,
              "oneDNN ({}) was not found, or lacks a function; install its package, or add its "
              "folder to LD_LIBRARY_PATH",
              SPIRE_ONEDNN_NAME);
}

void* find(const char* function) {
  void* found = library() ? ::dlsym(library(), function) : nullptr;
  return found ? found : reinterpret_cast<void*>(&missing);
}

}  // namespace

#define SPIRE_FUNCTION(function)                                                               \
  extern "C" __attribute__((visibility("hidden"), used)) void* const spire_##function =        \
      find(#function);                                                                         \
  asm(".pushsection .text\n.globl " #function "\n.hidden " #function "\n.type " #function      \
      ", @function\n" #function ":\nendbr64\njmp *spire_" #function "(%rip)\n.size " #function \
      ", .-" #function "\n.popsection");
#include "onednn_functions.h"
