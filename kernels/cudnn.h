// cuDNN's handle and the descriptors that its graphs are made of, owned and checked.
#pragma once
#include <cudnn.h>

#include <memory>
#include <span>
#include <vector>

namespace spire {

// Throws Error(device) naming the call, with cuDNN's own words, where `status` is not success.
void check_cudnn(cudnnStatus_t status, const char* call);

// The handle of the device that is the thread's current one when it is made. Its stream is set
// before each use, so one thread uses it at a time.
struct Cudnn {
  Cudnn();  // throws Error(device)
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  cudnnHandle_t handle = nullptr;
};

// How cuDNN names the C++ types of attributes.
template <typename T>
inline constexpr cudnnBackendAttributeType_t cudnn_type{};
template <>
inline constexpr auto cudnn_type<int64_t> = CUDNN_TYPE_INT64;
template <>
inline constexpr auto cudnn_type<float> = CUDNN_TYPE_FLOAT;
template <>
inline constexpr auto cudnn_type<bool> = CUDNN_TYPE_BOOLEAN;
template <>
inline constexpr auto cudnn_type<void*> = CUDNN_TYPE_VOID_PTR;
template <>
inline constexpr auto cudnn_type<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <>
inline constexpr auto cudnn_type<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <>
inline constexpr auto cudnn_type<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <>
inline constexpr auto cudnn_type<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <>
inline constexpr auto cudnn_type<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <>
inline constexpr auto cudnn_type<cudnnBackendNumericalNote_t> = CUDNN_TYPE_NUMERICAL_NOTE;

// Attributes are set, then it is finalized; from then on they are read. Throws Error(device).
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);

  cudnnBackendDescriptor_t get() const { return descriptor_.get(); }

  template <typename T>
  void set(cudnnBackendAttributeName_t name, const T& value) {
    set_values(name, cudnn_type<T>, 1, &value);
  }
  template <typename T>
  void set_all(cudnnBackendAttributeName_t name, std::span<const T> values) {
    set_values(name, cudnn_type<T>, static_cast<int64_t>(values.size()), values.data());
  }
  // Descriptors, which must be finalized and stay as long as this one.
  void link(cudnnBackendAttributeName_t name, const CudnnDescriptor& other);
  void link_all(cudnnBackendAttributeName_t name, std::span<const cudnnBackendDescriptor_t> others);

  void finalize();
  bool try_finalize();  // false where cuDNN cannot do what the attributes say

  template <typename T>
  T value(cudnnBackendAttributeName_t name) const {
    T value{};
    values(name, cudnn_type<T>, 1, &value);
    return value;
  }
  template <typename T>
  std::vector<T> all(cudnnBackendAttributeName_t name, int64_t most) const {
    std::vector<T> found(static_cast<size_t>(most));
    found.resize(static_cast<size_t>(values(name, cudnn_type<T>, most, found.data())));
    return found;
  }
  std::vector<CudnnDescriptor> descriptors(cudnnBackendAttributeName_t name,
                                           cudnnBackendDescriptorType_t type) const;

 private:
  void set_values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  const void* values);
  // How many there are; of them, writes `most`.
  int64_t values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most,
                 void* values) const;

  struct Destroy {
    void operator()(cudnnBackendDescriptor_t descriptor) const {
      cudnnBackendDestroyDescriptor(descriptor);
    }
  };
  std::unique_ptr<void, Destroy> descriptor_;
};

}  // namespace spire
