#include "engine/update/nccl_calls.h"

#include "engine/device/nvidia_library.h"

namespace spire {
namespace {

NcclCalls find_nccl_calls() {
  NcclCalls calls{};
  const NvidiaLibrary& library = nccl_library();
  library.need("ncclGetUniqueId", calls.unique_id);
  library.need("ncclCommInitRankConfig", calls.init);
  library.need("ncclCommFinalize", calls.finalize);
  library.need("ncclCommDestroy", calls.destroy);
  library.need("ncclCommAbort", calls.abort);
  library.need("ncclCommGetAsyncError", calls.async_error);
  library.need("ncclGetErrorString", calls.error_string);
  library.need("ncclGetLastError", calls.last_error);
  library.need("ncclCommRegister", calls.register_memory);
  library.need("ncclCommDeregister", calls.forget_memory);
  library.need("ncclGroupStart", calls.group_start);
  library.need("ncclGroupEnd", calls.group_end);
  library.need("ncclSend", calls.send);
  library.need("ncclRecv", calls.receive);
  library.need("ncclAllReduce", calls.all_reduce);
  return calls;
}

}  // namespace

const NcclCalls& nccl() {
  static const NcclCalls calls = find_nccl_calls();
  return calls;
}

}  // namespace spire
