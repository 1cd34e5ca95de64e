// NVIDIA's libraries that a process opens when it first uses a GPU, so that programs start, and
// train on CPUs, on machines that lack them.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace spire {

class NvidiaLibrary {
 public:
  struct Name {
    std::string name;   // "cuDNN"
    std::string file;   // "libcudnn.so.9"
    std::string wheel;  // "nvidia-cudnn-cu13": PyPI's package of it
    int cuda = 0;       // the major version of CUDA that it is for
  };
  // Takes the copy that the process has open already, else opens the first in nvidia_folders().
  // Never closes it: its kernels may run until the process ends. Does not throw if there is none.
  explicit NvidiaLibrary(Name name);

  // Returns where it was searched for, or the loader's error; "" if it is open.
  const std::string& why_not() const { return why_not_; }

  // Returns the function of that name; null if the library has none, or is not open.
  template <typename Function>
  Function* find(const char* function) const {
    return reinterpret_cast<Function*>(look_up(function));
  }
  // Returns the address of the function, which converts to a pointer to any type of function.
  // Throws Error(device) with the remedy if the library is missing or has no such function.
  struct Loaded {
    void* address;
    template <typename Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  Loaded need(const char* function) const { return {look_up_or_throw(function)}; }

 private:
  void* look_up(const char* function) const;
  void* look_up_or_throw(const char* function) const;

  Name name_;
  void* library_ = nullptr;
  std::string why_not_;
};

// Declares, in a class with a NvidiaLibrary `library`, a pointer to that library's `function`.
#define SPIRE_LIBRARY_FUNCTION(pointer, function) \
  decltype(&function) pointer = library.need(#function)

// Returns shell patterns of the folders in which NVIDIA's libraries are searched for, in this
// order: wheels (nvidia/*/lib) in the folder of the file `own` and in the two folders above it; "",
// which stands for the folders of the system's loader; CUDA_HOME and CUDA_PATH; /usr/local/cuda*,
// /opt/cuda; wheels of the python3 on PATH. If SPIRE_CUDA_FOLDERS is set, only its folders,
// separated by colons. cuda: major version.
std::vector<std::string> nvidia_folders(const std::filesystem::path& own, int cuda);

// The libraries of builds with CUDA, each opened by its first call.
const NvidiaLibrary& cublaslt_library();
const NvidiaLibrary& cudnn_library();
const NvidiaLibrary& nccl_library();
const NvidiaLibrary& nvrtc_library();

}  // namespace spire
