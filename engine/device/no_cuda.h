// For builds without CUDA, in the place of what makes things on a GPU.
#pragma once

namespace spire::inline device {

// Throws Error(device) saying that cuda:<index> is not in this build.
[[noreturn]] void refuse_cuda(int index);

}  // namespace spire::inline device
