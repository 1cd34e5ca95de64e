#include "engine/base/opened_library.h"

#include <dlfcn.h>

#include "engine/base/fail.h"

namespace spire {
namespace {

const void* file_with(const char* symbol) {
  Dl_info place{};
  const void* found = ::dlsym(RTLD_DEFAULT, symbol);
  return found && ::dladdr(found, &place) != 0 ? place.dli_fbase : nullptr;
}

// A program with a sanitizer ends where a library is opened with its own symbols first. In one that
// replaces operator new these would be libstdc++'s operator delete, which would free what the
// program's operator new made.
bool may_isolate() {
  for (const char* start : {"__asan_init", "__tsan_init", "__msan_init"})
    if (::dlsym(RTLD_DEFAULT, start)) return false;
  const void* standard = file_with("__cxa_throw");
  return file_with("_Znwm") == standard && file_with("_ZdlPv") == standard;
}

}  // namespace

OpenedLibrary::OpenedLibrary(const char* name, const char* file, Symbols symbols)
    : name_(name), isolated_(symbols == Symbols::isolated && may_isolate()) {
  int scope = symbols == Symbols::global ? RTLD_GLOBAL : RTLD_LOCAL;
  for (const char* each : {name, file}) {
    handle_ = ::dlopen(each, RTLD_NOW | scope | (isolated_ ? RTLD_DEEPBIND : 0));
    if (handle_) return;
    const char* said = ::dlerror();
    why_ += (why_.empty() ? "" : "; ") + std::string(said ? said : each);
  }
}

void* OpenedLibrary::find(const char* symbol) const {
  return handle_ ? ::dlsym(handle_, symbol) : nullptr;
}

// Programs that are no position-independent code have copies, which the loader found first.
void* OpenedLibrary::variable(const char* name) const {
  void* found = isolated_ ? nullptr : ::dlsym(RTLD_DEFAULT, name);
  return found ? found : find(name);
}

void OpenedLibrary::fail_missing() const {
  fail(Category::device,
       "{} cannot be used: {}; install its package, or add its folder to LD_LIBRARY_PATH", name_,
       handle_ ? "it lacks a function that this one calls" : why_);
}

}  // namespace spire
