#include "kernels/cuda/cudnn.h"

#include "engine/base/fail.h"
#include "engine/device/cuda_error.h"
#include "kernels/cuda/libraries.h"

namespace spire {
namespace {

// Describes the current device as keys of engine choices do.
std::string current_kind() {
  size_t version = cudnn_calls().version();
  return fmt::format("{}, cuDNN {}.{}.{}", kind_of_current_gpu(), version / 10000,
                     version / 100 % 100, version % 100);
}

}  // namespace

const CudnnCalls& cudnn_calls() {
  static const CudnnCalls calls;
  return calls;
}

void check_cudnn(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  // From EXECUTION_FAILED on the codes are failures of a run: the device may be the cause.
  if (status >= CUDNN_STATUS_EXECUTION_FAILED) check_device(call);
  char words[512] = "";
  cudnn_calls().last_error_string(words, sizeof words);
  fail(Category::device, "{}: {} {}", call, cudnn_calls().error_string(status), words);
}

Cudnn::Cudnn() : kind(current_kind()) {
  check_cudnn(cudnn_calls().create(&handle), "cudnnCreate");
}

Cudnn::Cudnn(std::string_view json) : properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR) {
  properties->set_all(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                      std::span<const char>(json.data(), json.size()));
  properties->finalize();
}

Cudnn::~Cudnn() {
  if (handle) cudnn_calls().destroy(handle);
}

void Cudnn::set_handle(CudnnDescriptor& descriptor, cudnnBackendAttributeName_t attribute) const {
  if (handle) descriptor.set(attribute, handle);
}

void Cudnn::set_properties(CudnnDescriptor& descriptor,
                           cudnnBackendAttributeName_t attribute) const {
  if (properties) descriptor.link(attribute, *properties);
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  check_cudnn(cudnn_calls().create_descriptor(type, &made), "cudnnBackendCreateDescriptor");
  descriptor_.reset(made);
}

void CudnnDescriptor::link(cudnnBackendAttributeName_t name, const CudnnDescriptor& other) {
  cudnnBackendDescriptor_t one = other.get();
  link_all(name, {&one, 1});
}

void CudnnDescriptor::link_all(cudnnBackendAttributeName_t name,
                               std::span<const cudnnBackendDescriptor_t> others) {
  set_values(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(others.size()),
             others.data());
}

void CudnnDescriptor::finalize() {
  check_cudnn(cudnn_calls().finalize(get()), "cudnnBackendFinalize");
}

bool CudnnDescriptor::try_finalize() {
  return cudnn_calls().finalize(get()) == CUDNN_STATUS_SUCCESS;
}

void CudnnDescriptor::set_values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                 int64_t count, const void* values) {
  check_cudnn(cudnn_calls().set_attribute(get(), name, type, count, values),
              "cudnnBackendSetAttribute");
}

int64_t CudnnDescriptor::values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                int64_t most, void* values) const {
  int64_t count = 0;
  check_cudnn(cudnn_calls().get_attribute(get(), name, type, most, &count, values),
              "cudnnBackendGetAttribute");
  return count;
}

std::vector<CudnnDescriptor> CudnnDescriptor::descriptors(cudnnBackendAttributeName_t name,
                                                          cudnnBackendDescriptorType_t type,
                                                          std::optional<int64_t> most) const {
  // cuDNN fills descriptors that the caller has made, so make as many as there may be and drop the
  // rest.
  int64_t count = most ? *most : values(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<CudnnDescriptor> found;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) raw.push_back(found.emplace_back(type).get());
  count = values(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, raw.data());
  found.erase(found.begin() + count, found.end());
  return found;
}

}  // namespace spire
