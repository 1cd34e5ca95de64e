#include <spire/base/error.h>

#include <algorithm>
#include <new>
#include <numeric>
#include <system_error>

namespace spire {

std::string_view name(Category category) {
  switch (category) {
    case Category::unexpected:
      return "unexpected";
    case Category::config:
      return "config";
    case Category::device:
      return "device";
    case Category::data:
      return "data";
    case Category::checkpoint:
      return "checkpoint";
    case Category::out_of_memory:
      return "out_of_memory";
    case Category::diverged:
      return "diverged";
    case Category::collective:
      return "collective";
    case Category::interrupted:
      return "interrupted";
  }
  return "unknown";
}

namespace {

// Levenshtein distance with one row of memory.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

Error classify(const std::exception& error) {
  if (auto known = dynamic_cast<const Error*>(&error)) return *known;
  if (dynamic_cast<const std::bad_alloc*>(&error))
    return {Category::out_of_memory, "this machine is out of memory"};
  // What the system refuses, it refuses again: a name that is taken, a right that lacks, a limit.
  if (dynamic_cast<const std::system_error*>(&error)) return {Category::device, error.what()};
  return {Category::unexpected, error.what()};
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace spire
