// The parameters of one device in the forms its kernels read (Kernel::packings): one buffer a
// device, made anew from the plain weights after every update.
#pragma once
#include <string>
#include <vector>

#include <spire/device/buffer.h>
#include <spire/graph/parameter_layout.h>
#include <spire/kernels/kernel.h>

namespace spire {

class PackedForms {
 public:
  // Registers a form at plan time and returns its byte offset; equal (parameter, form) share one.
  // step: whether a training step reads it; forms that only evaluation reads are packed before
  // that.
  size_t add(const ParameterEntry& entry, Packing packing, bool step);

  // Once all plans are made.
  void allocate() { buffer_ = Buffer(bytes_); }
  size_t bytes() const { return bytes_; }
  const std::byte* data() const { return buffer_.data(); }

  // Packs share `part` of `parts`: the units whose weights begin in that share of the plain
  // weights, so that the lane that updated weights also packs them. Parts may run at a time.
  void pack_for_step(const float* weights, int part, int parts);
  void pack_for_evaluation(const float* weights, int part, int parts);

 private:
  struct Form {
    int64_t parameter_offset;
    size_t offset;
    int64_t elements;
    bool step;
    Packing packing;
  };
  void pack_some(const float* weights, bool step, int part, int parts);

  std::vector<Form> forms_;
  int64_t floats_ = 0;  // plain weights up to the last one that has a form
  size_t bytes_ = 0;
  Buffer buffer_;
};

}  // namespace spire
