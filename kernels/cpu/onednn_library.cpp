// The functions of oneDNN that kernels call, each a jump to its place in the library, which is
// opened when the program starts and in which the library's own symbols come first: libtorch has
// another oneDNN inside, and some symbols of the two have one name, so that in one process the
// calls of this one would end in that one. Where oneDNN is an archive, or with a sanitizer, which
// cannot open a library so, the linker binds these functions, and this file is not compiled.
//
// Not so, but as a linker would, in programs that replace operator new: the library's own symbols
// are then libstdc++'s operator delete, which would free what the program's operator new made.
#include "kernels/cpu/onednn_library.h"

#include <string>

#include <dlfcn.h>

#include <spire/error.h>

namespace {

const void* file_with(const char* symbol) {
  Dl_info place{};
  const void* found = ::dlsym(RTLD_DEFAULT, symbol);
  return found && ::dladdr(found, &place) != 0 ? place.dli_fbase : nullptr;
}

// A program with a sanitizer ends where a library is opened with its own symbols first.
bool may_isolate() {
  for (const char* start : {"__asan_init", "__tsan_init", "__msan_init"})
    if (::dlsym(RTLD_DEFAULT, start)) return false;
  const void* standard = file_with("__cxa_throw");
  return file_with("_Znwm") == standard && file_with("_ZdlPv") == standard;
}

struct Library {
  bool isolated = may_isolate();
  void* handle = nullptr;
  std::string why;  // there is none

  Library() {
    for (const char* file : {SPIRE_ONEDNN_NAME, SPIRE_ONEDNN_FILE}) {
      handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL | (isolated ? RTLD_DEEPBIND : 0));
      if (handle) return;
      const char* said = ::dlerror();
      why += (why.empty() ? "" : "; ") + std::string(said ? said : file);
    }
  }
};

const Library& library() {
  static const Library opened;
  return opened;
}

[[noreturn]] void missing() {
  spire::fail(spire::Category::device,
              "oneDNN cannot be used: {}; install its package, or add its folder to "
              "LD_LIBRARY_PATH",
              library().why.empty() ? SPIRE_ONEDNN_NAME " lacks a function" : library().why);
}

void* find(const char* function) {
  void* found = library().handle ? ::dlsym(library().handle, function) : nullptr;
  return found ? found : reinterpret_cast<void*>(&missing);
}

}  // namespace

void* spire::onednn::isolated_library() {
  return library().isolated ? library().handle : nullptr;
}

#define SPIRE_FUNCTION(function)                                                               \
  extern "C" __attribute__((visibility("hidden"), used)) void* const spire_##function =        \
      find(#function);                                                                         \
  asm(".pushsection .text\n.globl " #function "\n.hidden " #function "\n.type " #function      \
      ", @function\n" #function ":\nendbr64\njmp *spire_" #function "(%rip)\n.size " #function \
      ", .-" #function "\n.popsection");
#include "engine/base/fail.h"
#include "onednn_functions.h"
