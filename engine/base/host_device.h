// Marks functions that also run on a GPU, where a compiler that knows GPUs reads them.
#pragma once

#ifdef __CUDACC__
#define SPIRE_HOST_DEVICE __host__ __device__
#else
#define SPIRE_HOST_DEVICE
#endif
