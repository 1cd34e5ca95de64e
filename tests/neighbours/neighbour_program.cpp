// Trains a step in a process in which each of oneDNN's functions is first another library's.
#include <cstdio>

#include <dlfcn.h>

#include "one_step.h"

int main() {
  auto other = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "dnnl_primitive_execute"));
  if (!other || other() != 5) return std::puts("the other library's functions are not first"), 1;
  return train_one_step();
}
