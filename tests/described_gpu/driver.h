// Images that a process has loaded into the stand-in for NVIDIA's driver (driver.cpp).
#pragma once
#include <cstddef>

extern "C" {

// Number of images so far, and each as it was given to the driver: a cubin, which is never freed.
size_t described_images();
const void* described_image(size_t index);

}  // extern "C"
