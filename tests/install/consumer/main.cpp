#include <spire/base/error.h>
#include <spire/base/shape.h>
#include <spire/device/device.h>

int main() {
  spire::Shape batch{8, 16, 16, 3};
  fmt::print("{} holds {} elements\n", spire::to_string(batch), batch.elements());
  fmt::print("CUDA: {}\n", spire::discover_cuda().why_none);
}
