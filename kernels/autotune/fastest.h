// Choosing the fastest of several ways to do the same.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>

namespace spire::inline kernels {

// time(i): how long one run of candidate i takes; none where it fails, and then it is out. The
// first run of each does not count. Then they take turns, so that a device that changes its clock
// meets all of them; each is as quick as its fastest run, and one that takes twice the fastest
// rests. Of those within 3 % of the fastest it is the first: what can hardly be told apart
// is chosen alike each time. None where all fail.
std::optional<size_t> fastest(size_t candidates,
                              const std::function<std::optional<float>(size_t)>& time);

}  // namespace spire::inline kernels
