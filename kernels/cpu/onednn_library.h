// The library oneDNN where it is opened at run time (onednn_library.cpp).
#pragma once

namespace spire::onednn {

// Returns the library's handle if its own symbols come first in it, so that it may call another
// OpenMP runtime than Spire does; else null. Weak: without it the linker binds oneDNN.
__attribute__((weak, visibility("hidden"))) void* isolated_library();

}  // namespace spire::onednn
