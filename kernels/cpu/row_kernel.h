// A kernel that multiplies rows taken from images by one matrix, block by block of images.
#pragma once
#include <vector>

#include <spire/packing.h>

#include "kernels/cpu/padded_images.h"
#include "kernels/cpu/row_product.h"
#include "kernels/kernel.h"

namespace spire::product {

struct RowKernelOptions {
  PaddedImages images;           // of input 0
  int64_t count = 0;             // number of images
  std::vector<RowGroup> groups;  // of one image; together they write all of its output
  int64_t output_size = 0;       // of an image
  Factors factors;               // input 1
  std::vector<Packing> packings;
  bool bias = false, relu = false;  // bias: input 2
};

// Inputs and output 0 have the dtypes of the request: fp32 or bf16.
Kernel make_row_kernel(RowKernelOptions options, const KernelRequest& request);

}  // namespace spire::product
