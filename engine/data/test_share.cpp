#include "engine/data/test_share.h"

#include <algorithm>
#include <cmath>

#include <spire/error.h>
#include <spire/random_stream.h>

#include "engine/data/sampler.h"

namespace spire::inline data {

bool is_test_row(int64_t number, double test_share) {
  RandomStream draw(0, Purpose::test_split, split_streams::rows, static_cast<uint64_t>(number));
  return draw.uniform(0) < test_share;
}

std::string all_test_note(const std::string& what, const std::string& samples, const char* key) {
  return fmt::format(
      "{}: all {} count as test data, as the run was trained on other data; {}=0.1 keeps a tenth "
      "of them, as training does",
      what, samples, key);
}

std::vector<bool> test_images_of(std::span<const int32_t> labels, double share,
                                 const std::string& what) {
  std::vector<std::vector<size_t>> members;  // of each class
  for (size_t i = 0; i < labels.size(); ++i) {
    auto label = static_cast<size_t>(labels[i]);
    if (label >= members.size()) members.resize(label + 1);
    members[label].push_back(i);
  }
  std::vector<bool> chosen(labels.size());
  for (size_t label = 0; label < members.size(); ++label) {
    int64_t count = std::ssize(members[label]);
    if (count < 2) continue;
    int64_t part =
        std::clamp<int64_t>(std::lround(share * static_cast<double>(count)), 1, count - 1);
    const RandomStream key(0, Purpose::test_split, split_streams::test_images, label);
    for (int64_t i = 0; i < part; ++i)
      chosen[members[label][static_cast<size_t>(permuted(key, count, i))]] = true;
  }
  if (std::ranges::find(chosen, true) == chosen.end())
    fail(Category::data,
         "{}: no class has two images, so none can be kept for testing; add images, or a test set "
         "of its own",
         what);
  return chosen;
}

}  // namespace spire::inline data
