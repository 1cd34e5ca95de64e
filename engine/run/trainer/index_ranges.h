// The numbers that labels and tokens of a caller's batch may be.
#pragma once
#include <cstdint>

#include <spire/dataset.h>
#include <spire/trainer.h>

namespace spire {

// Throw Error(data), with the sample's index, the number and the range, for class labels outside
// [0, classes), and for tokens outside the vocabulary; beside labels, of which the spec counts the
// classes, tokens are only known not to be negative. Other columns may have any numbers.
void check_indices(const SampleSpec& spec, const Samples& samples);
// The same for `count` rows of the first column.
void check_indices(const SampleSpec& spec, const void* rows, int64_t count);

// Throws Error(data) for values that are no labels, 0 or 1, as loss.name: binary takes them.
void check_binary(const SampleSpec& spec, const Samples& samples);

}  // namespace spire
