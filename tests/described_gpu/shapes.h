// Shapes of convolutions and attention as lines of text: the emulation writes what a run asks
// NVIDIA's libraries for, and plans_test reads it to make plans for described GPUs.
#pragma once
#include <filesystem>
#include <vector>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/convolution.h"

namespace spire::testing {

// Appends a line to the file that the environment variable SPIRE_SHAPES_FILE names, if it is set.
void note(const ConvolutionShape& shape);
void note(const AttentionShape& shape);

// The shapes of one or several runs, each once.
struct Shapes {
  std::vector<ConvolutionShape> convolutions;
  std::vector<AttentionShape> attentions;
};
Shapes read_shapes(const std::filesystem::path& file);

// Returns one shape of each kind. Convolutions of a kind have the same pass, dtype, alignment of
// channels, groups, bias and relu, and agree in whether they have strides, dilation and a window of
// several pixels; attention of a kind has the same pass, dtype, head size, mask and dropout.
Shapes one_of_each_kind(const Shapes& shapes);

}  // namespace spire::testing
