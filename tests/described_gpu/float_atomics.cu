// Kernels with and without float atomics, one for each case of float_atomics_test.cpp and a cubin
// each. SPIRE_KERNEL selects the kernel.
#include <cuda_fp16.h>

#define ADD 1
#define ADD_AND_READ 2
#define ADD_DOUBLES 3
#define ADD_HALVES 4
#define COUNT 5

__global__ void kernel(float* sums, double* doubles, __half2* halves, int* counts) {
  int i = threadIdx.x;
#if SPIRE_KERNEL == ADD
  atomicAdd(sums, sums[i + 1]);
#elif SPIRE_KERNEL == ADD_AND_READ
  sums[i + 1] = atomicAdd(sums, sums[i + 2]);
#elif SPIRE_KERNEL == ADD_DOUBLES
  atomicAdd(doubles, doubles[i + 1]);
#elif SPIRE_KERNEL == ADD_HALVES
  atomicAdd(halves, halves[i + 1]);
#else
  counts[i + 1] = atomicAdd(counts, 1) + atomicMax(counts, 7);
  sums[i] = sums[i + 1] + sums[i + 2];
#endif
}
