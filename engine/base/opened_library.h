// Libraries that are opened when a program first calls one of their functions, not when it starts:
// what trains in a program's memory needs neither MPI nor a web server. spire_opens()
// (cmake/SpireOpens.cmake) writes for each such library a file with a stub for every function.
#pragma once
#include <string>

namespace spire {

class OpenedLibrary {
 public:
  // hidden: nobody else sees its symbols. global: libraries that are opened later do, as Open MPI
  // expects. isolated: its own symbols also come first in it, so that those of another library of
  // the process do not take their place; a linker cannot do this.
  enum class Symbols { hidden, global, isolated };
  // name: "libtiff.so.6", found as the system finds libraries; file: where it was when Spire was
  // built.
  OpenedLibrary(const char* name, const char* file, Symbols symbols);

  void* find(const char* symbol) const;  // null: there is none
  // The variable that the library uses: the program's, if that has a copy of it; null: none.
  void* variable(const char* name) const;
  bool isolated() const { return isolated_; }
  [[noreturn]] void fail_missing() const;  // throws Error(device) with the reason

 private:
  std::string name_, why_;
  bool isolated_;
  void* handle_ = nullptr;
};

}  // namespace spire

// A stub jumps to where slot_* points: first to its own second half, from which spire_resolve_*
// calls spire_find_*(name, slot), with all registers that hold arguments saved (System V ABI,
// AMD64), and then goes on to the function found. So an exception that spire_find_*'s replacement
// for a missing function throws unwinds as one of the caller.
#define SPIRE_OPENED_RESOLVER(library)                                                           \
  asm(".pushsection .text\n.type spire_resolve_" #library ", @function\nspire_resolve_" #library \
      ":\npush %rbp\nmov %rsp, %rbp\nsub $208, %rsp\nand $-16, %rsp\n"                           \
      "mov %rdi, (%rsp)\nmov %rsi, 8(%rsp)\nmov %rdx, 16(%rsp)\nmov %rcx, 24(%rsp)\n"            \
      "mov %r8, 32(%rsp)\nmov %r9, 40(%rsp)\nmov %rax, 48(%rsp)\n"                               \
      "movaps %xmm0, 64(%rsp)\nmovaps %xmm1, 80(%rsp)\nmovaps %xmm2, 96(%rsp)\n"                 \
      "movaps %xmm3, 112(%rsp)\nmovaps %xmm4, 128(%rsp)\nmovaps %xmm5, 144(%rsp)\n"              \
      "movaps %xmm6, 160(%rsp)\nmovaps %xmm7, 176(%rsp)\n"                                       \
      "mov %r10, %rdi\nmov %r11, %rsi\ncall spire_find_" #library                                \
      "\nmov %rax, %r11\n"                                                                       \
      "movaps 64(%rsp), %xmm0\nmovaps 80(%rsp), %xmm1\nmovaps 96(%rsp), %xmm2\n"                 \
      "movaps 112(%rsp), %xmm3\nmovaps 128(%rsp), %xmm4\nmovaps 144(%rsp), %xmm5\n"              \
      "movaps 160(%rsp), %xmm6\nmovaps 176(%rsp), %xmm7\n"                                       \
      "mov (%rsp), %rdi\nmov 8(%rsp), %rsi\nmov 16(%rsp), %rdx\nmov 24(%rsp), %rcx\n"            \
      "mov 32(%rsp), %r8\nmov 40(%rsp), %r9\nmov 48(%rsp), %rax\n"                               \
      "leave\njmp *%r11\n.size spire_resolve_" #library ", .-spire_resolve_" #library            \
      "\n.popsection");
#define SPIRE_OPENED_FUNCTION(library, function)                                                   \
  asm(".pushsection .text\n.globl " #function "\n.hidden " #function "\n.type " #function          \
      ", @function\n" #function ":\nendbr64\njmp *spire_slot_" #function                           \
      "(%rip)\n"                                                                                   \
      "spire_first_" #function ":\nendbr64\nlea spire_name_" #function                             \
      "(%rip), %r10\n"                                                                             \
      "lea spire_slot_" #function "(%rip), %r11\njmp spire_resolve_" #library "\n.size " #function \
      ", .-" #function "\n.popsection\n.pushsection .rodata\nspire_name_" #function                \
      ": .asciz \"" #function                                                                      \
      "\"\n.popsection\n.pushsection .data.rel.local, \"aw\"\n.balign 8\n"                         \
      "spire_slot_" #function ": .quad spire_first_" #function "\n.popsection");
