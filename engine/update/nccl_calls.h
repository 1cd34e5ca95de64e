// The functions of NCCL that Spire calls. The first call of nccl() opens the library.
#pragma once
#include <nccl.h>

namespace spire {

struct NcclCalls {
  decltype(&ncclGetUniqueId) unique_id;
  decltype(&ncclCommInitRankConfig) init;
  decltype(&ncclCommFinalize) finalize;
  decltype(&ncclCommDestroy) destroy;
  decltype(&ncclCommAbort) abort;
  decltype(&ncclCommGetAsyncError) async_error;
  decltype(&ncclGetErrorString) error_string;
  decltype(&ncclGetLastError) last_error;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) receive;
  decltype(&ncclAllReduce) all_reduce;
};

const NcclCalls& nccl();  // throws Error(device) if NCCL is missing or too old

}  // namespace spire
