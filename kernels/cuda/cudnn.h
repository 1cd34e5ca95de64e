// Wrappers that own cuDNN's handle and its backend descriptors, of which graphs are made (cuDNN
// Backend API), and that check each call.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cudnn.h>

#include "engine/device/nvidia_library.h"

namespace spire {

// Pointers to the functions of cuDNN that Spire calls. The constructor opens the library.
struct CudnnCalls {
  const NvidiaLibrary& library = cudnn_library();
  SPIRE_LIBRARY_FUNCTION(create, cudnnCreate);
  SPIRE_LIBRARY_FUNCTION(destroy, cudnnDestroy);
  SPIRE_LIBRARY_FUNCTION(set_stream, cudnnSetStream);
  SPIRE_LIBRARY_FUNCTION(version, cudnnGetVersion);
  SPIRE_LIBRARY_FUNCTION(error_string, cudnnGetErrorString);
  SPIRE_LIBRARY_FUNCTION(last_error_string, cudnnGetLastErrorString);
  SPIRE_LIBRARY_FUNCTION(create_descriptor, cudnnBackendCreateDescriptor);
  SPIRE_LIBRARY_FUNCTION(destroy_descriptor, cudnnBackendDestroyDescriptor);
  SPIRE_LIBRARY_FUNCTION(set_attribute, cudnnBackendSetAttribute);
  SPIRE_LIBRARY_FUNCTION(get_attribute, cudnnBackendGetAttribute);
  SPIRE_LIBRARY_FUNCTION(finalize, cudnnBackendFinalize);
  SPIRE_LIBRARY_FUNCTION(execute, cudnnBackendExecute);
};
const CudnnCalls& cudnn_calls();  // throws Error(device) if the library is missing or too old

// Throws unless `status` is success: the device's error if there is one and cuDNN failed in a run
// (check_device), else Error(device) with the call and cuDNN's text.
void check_cudnn(cudnnStatus_t status, const char* call);

// cuDNN's tag for the C++ type of an attribute.
template <typename T>
inline constexpr cudnnBackendAttributeType_t cudnn_type{};
template <>
inline constexpr auto cudnn_type<int64_t> = CUDNN_TYPE_INT64;
template <>
inline constexpr auto cudnn_type<char> = CUDNN_TYPE_CHAR;
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
inline constexpr auto cudnn_type<cudnnReduceTensorOp_t> = CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
template <>
inline constexpr auto cudnn_type<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <>
inline constexpr auto cudnn_type<cudnnBackendKnobType_t> = CUDNN_TYPE_KNOB_TYPE;
template <>
inline constexpr auto cudnn_type<cudnnBackendNumericalNote_t> = CUDNN_TYPE_NUMERICAL_NOTE;

// A backend descriptor, whose attributes are set before it is finalized. If cuDNN refuses, all
// functions throw Error(device), except try_set() and try_finalize().
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
  template <typename T>  // returns false if cuDNN refuses the value
  bool try_set(cudnnBackendAttributeName_t name, const T& value) {
    return cudnn_calls().set_attribute(get(), name, cudnn_type<T>, 1, &value) ==
           CUDNN_STATUS_SUCCESS;
  }
  // Set an attribute whose value is one descriptor, or several. They must be finalized already and
  // outlive this object.
  void link(cudnnBackendAttributeName_t name, const CudnnDescriptor& other);
  void link_all(cudnnBackendAttributeName_t name, std::span<const cudnnBackendDescriptor_t> others);

  void finalize();
  bool try_finalize();  // false if cuDNN does not support the attributes

  template <typename T>
  T value(cudnnBackendAttributeName_t name) const {
    T value{};
    values(name, cudnn_type<T>, 1, &value);
    return value;
  }
  template <typename T>
  int64_t count(cudnnBackendAttributeName_t name) const {
    return values(name, cudnn_type<T>, 0, nullptr);
  }
  template <typename T>
  std::vector<T> all(cudnnBackendAttributeName_t name, int64_t most) const {
    std::vector<T> found(static_cast<size_t>(most));
    found.resize(static_cast<size_t>(values(name, cudnn_type<T>, most, found.data())));
    return found;
  }
  // Returns an attribute's descriptors. most: an upper bound, if cuDNN does not report the count.
  std::vector<CudnnDescriptor> descriptors(cudnnBackendAttributeName_t name,
                                           cudnnBackendDescriptorType_t type,
                                           std::optional<int64_t> most = {}) const;

 private:
  void set_values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  const void* values);
  // Writes at most `most` values and returns how many there are.
  int64_t values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most,
                 void* values) const;

  struct Destroy {
    void operator()(cudnnBackendDescriptor_t descriptor) const {
      cudnn_calls().destroy_descriptor(descriptor);
    }
  };
  std::unique_ptr<void, Destroy> descriptor_;
};

// The device for which graphs, engines and plans are made: a cuDNN handle, or only the description
// of a GPU, which this machine need not have.
struct Cudnn {
  // Opens the thread's current device, for use by one thread at a time. Throws Error(device).
  Cudnn();
  // Describes a GPU by its properties in cuDNN's JSON: plans can be made, but not run. Throws
  // Error(device) if the properties are incomplete.
  explicit Cudnn(std::string_view properties);
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  // Set an attribute of a descriptor to the handle, or to the GPU's description. Each does nothing
  // if this object has no handle, or no description.
  void set_handle(CudnnDescriptor& descriptor, cudnnBackendAttributeName_t attribute) const;
  void set_properties(CudnnDescriptor& descriptor, cudnnBackendAttributeName_t attribute) const;

  cudnnHandle_t handle = nullptr;             // null: the device is only described
  std::optional<CudnnDescriptor> properties;  // the description
  // "NVIDIA H100 80GB HBM3, compute 9.0, cuDNN 9.19.0"; empty if the device is only described.
  std::string kind;
};

}  // namespace spire
