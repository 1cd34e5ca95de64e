// What a process has loaded into the stand-in for NVIDIA's driver (driver.cpp).
#pragma once
#include <cstddef>

extern "C" {

// Images so far, each as it was handed to the driver: a cubin, which stays as long as the process.
size_t described_images();
const void* described_image(size_t index);

}  // extern "C"
