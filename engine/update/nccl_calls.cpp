#include "engine/update/nccl_calls.h"

#include "engine/device/nvidia_library.h"

namespace spire {
namespace {

NcclCalls find_nccl_calls() {
  NcclCalls calls{};
  const NvidiaLibrary& library = nccl_library();
  calls.unique_id = library.need("ncclGetUniqueId");
  calls.init = library.need("ncclCommInitRankConfig");
  calls.finalize = library.need("ncclCommFinalize");
  calls.destroy = library.need("ncclCommDestroy");
  calls.abort = library.need("ncclCommAbort");
  calls.async_error = library.need("ncclCommGetAsyncError");
  calls.error_string = library.need("ncclGetErrorString");
  calls.last_error = library.need("ncclGetLastError");
  calls.group_start = library.need("ncclGroupStart");
  calls.group_end = library.need("ncclGroupEnd");
  calls.send = library.need("ncclSend");
  calls.receive = library.need("ncclRecv");
  calls.all_reduce = library.need("ncclAllReduce");
  return calls;
}

}  // namespace

const NcclCalls& nccl() {
  static const NcclCalls calls = find_nccl_calls();
  return calls;
}

}  // namespace spire
