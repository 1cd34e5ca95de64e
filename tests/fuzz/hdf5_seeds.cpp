#include "tests/fuzz/hdf5_recipe.h"

namespace spire::fuzz {

std::vector<Bytes> hdf5_seeds() {
  using namespace hdf5_type;
  using namespace hdf5_attribute;
  constexpr uint8_t one = 0, two = 1, three = 2, four = 3, five = 4, eight = 5, ten = 15;
  constexpr uint8_t gzip = hdf5_filter::shuffle | hdf5_filter::deflate;
  // As trainer dataset convert writes them, except for the values of the checksums.
  Hdf5Part checksums = {.type = u64, .extents = {three}, .attributes = {{rows, integer, 128, 4}}};
  auto file = [&](const Hdf5Part& input, const Hdf5Part& target, uint8_t asked = 0) {
    Bytes bytes = {asked};
    for (int split = 0; split < 2; ++split) append(bytes, input), append(bytes, target);
    for (int column = 0; column < 2; ++column) append(bytes, checksums);
    return bytes;
  };
  Hdf5Part grey = {.type = u8, .extents = {ten, four, five}, .values = 100, .step = 7};
  Hdf5Part colour = {.type = u8,
                     .extents = {ten, four, five, three},
                     .layout = hdf5_layout::chunked,
                     .chunk = {four, four, five, three},
                     .filters = gzip,
                     .values = 100,
                     .step = 7};
  Hdf5Part labels = {.type = i64, .extents = {ten}, .values = 2};
  Hdf5Part named = labels;
  named.attributes = {{class_names, word, 2, 'a'}, {classes, integer, 128, 3}};
  Hdf5Part features = {.type = f64,
                       .extents = {ten, three},
                       .values = 50,
                       .attributes = {{mean, number, 2, 5}, {stddev, number, 2, 2}}};
  Hdf5Part values = {.type = f32, .extents = {ten, two}, .values = 9};
  Hdf5Part tokens = {.type = u16_be, .extents = {ten, eight}, .values = 7};
  Hdf5Part targets = tokens;
  targets.attributes = {{classes, integer, 128, 8}};
  targets.layout = hdf5_layout::chunked;
  targets.chunk = {three, eight};
  targets.filters = hdf5_filter::fletcher32;
  Hdf5Part single = {.type = i8, .extents = {one, one}, .layout = hdf5_layout::compact};
  Hdf5Part real = {.type = f64_be, .extents = {one}, .values = 1};
  constexpr uint8_t full_shuffle = 1, newest = 2;
  return {file(grey, labels), file(colour, named, full_shuffle | newest), file(features, values),
          file(tokens, targets), file(single, real)};
}

}  // namespace spire::fuzz
