// Random streams of Purpose::test_split: each choice of samples has draws of its own, so that none
// follows from another.
#pragma once
#include <cstdint>

namespace spire::inline data::split_streams {

inline constexpr uint64_t rows = 0;         // rows for testing: is_test_row()
inline constexpr uint64_t validation = 1;   // samples for validation: split_validation()
inline constexpr uint64_t test_images = 2;  // images of each class for testing: test_images_of()

}  // namespace spire::inline data::split_streams
