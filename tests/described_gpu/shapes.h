// Convolutions and attention as lines of text: what a run asks a GPU's libraries for, written down
// where it is emulated and read where plans are made for GPUs that are described.
#pragma once
#include <filesystem>
#include <vector>

#include "kernels/nvidia/attention.h"
#include "kernels/nvidia/convolution.h"

namespace spire::testing {

// Appends a line to the file that the environment variable SPIRE_SHAPES_FILE names, if it does.
void note(const ConvolutionShape& shape);
void note(const AttentionShape& shape);

// Of one or several runs, each shape once.
struct Shapes {
  std::vector<ConvolutionShape> convolutions;
  std::vector<AttentionShape> attentions;
};
Shapes read_shapes(const std::filesystem::path& file);

// One of each kind: of the same pass, dtype, alignment of channels, groups, bias and relu, with
// strides, dilation and a window of more than one pixel or without. Attention: of the same pass,
// dtype, head size, mask and dropout.
Shapes one_of_each_kind(const Shapes& shapes);

}  // namespace spire::testing
