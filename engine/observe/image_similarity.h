// Similarity of two images as people see it.
#pragma once
#include <cstdint>
#include <span>

namespace spire {

inline constexpr int64_t ssim_window = 11;  // pixels a side; smaller images have no SSIM

// Mean structural similarity of images a and b, (height, width, channels), whose pixels are from 0
// to 1: Wang, Bovik, Sheikh, Simoncelli, "Image Quality Assessment: From Error Visibility to
// Structural Similarity", 2004. For each window of 11 x 11 pixels within the image and each channel
//   (2 ma mb + C1) (2 cov + C2) / ((ma^2 + mb^2 + C1) (va + vb + C2)),  C1 = 0.01^2, C2 = 0.03^2
// with means m, variances v and the covariance weighted by a Gaussian of deviation 1.5 whose sum is
// 1; then the mean over windows and channels. In fp64; scikit-image's structural_similarity with
// gaussian_weights gives the same. NaN for images smaller than a window.
double ssim(std::span<const float> a, std::span<const float> b, int64_t height, int64_t width,
            int64_t channels);

}  // namespace spire
