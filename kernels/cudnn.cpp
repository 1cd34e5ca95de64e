#include <spire/base/error.h>
#include <spire/kernels/cudnn.h>

namespace spire {

void check_cudnn(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char words[512] = "";
  cudnnGetLastErrorString(words, sizeof words);
  fail(Category::device, "{}: {} {}", call, cudnnGetErrorString(status), words);
}

Cudnn::Cudnn() {
  check_cudnn(cudnnCreate(&handle), "cudnnCreate");
}

Cudnn::~Cudnn() {
  cudnnDestroy(handle);
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  check_cudnn(cudnnBackendCreateDescriptor(type, &made), "cudnnBackendCreateDescriptor");
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
  check_cudnn(cudnnBackendFinalize(get()), "cudnnBackendFinalize");
}

bool CudnnDescriptor::try_finalize() {
  return cudnnBackendFinalize(get()) == CUDNN_STATUS_SUCCESS;
}

void CudnnDescriptor::set_values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                 int64_t count, const void* values) {
  check_cudnn(cudnnBackendSetAttribute(get(), name, type, count, values),
              "cudnnBackendSetAttribute");
}

int64_t CudnnDescriptor::values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                int64_t most, void* values) const {
  int64_t count = 0;
  check_cudnn(cudnnBackendGetAttribute(get(), name, type, most, &count, values),
              "cudnnBackendGetAttribute");
  return count;
}

std::vector<CudnnDescriptor> CudnnDescriptor::descriptors(cudnnBackendAttributeName_t name,
                                                          cudnnBackendDescriptorType_t type) const {
  int64_t count = values(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<CudnnDescriptor> found;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) raw.push_back(found.emplace_back(type).get());
  count = values(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, raw.data());
  found.erase(found.begin() + count, found.end());
  return found;
}

}  // namespace spire
