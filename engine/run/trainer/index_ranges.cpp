#include "engine/run/trainer/index_ranges.h"

#include <algorithm>
#include <optional>

#include <spire/error.h>

#include "engine/data/label_survey.h"
#include "engine/data/text/packed_documents.h"

namespace spire {
namespace {

bool is_label(const Column& column) {
  return column.name == "labels" || column.name == "other_labels";
}

bool holds_indices(const Column& column) {
  bool tokens = column.name == "tokens" || column.name == "targets";
  return column.dtype == DType::i32 && (is_label(column) || tokens || column.name == "masks");
}

// The numbers are at least this: -1 is a pixel without a class.
int32_t first_of(const Column& column) {
  return column.name == "masks" ? -1 : 0;
}

// The numbers are below this; INT32_MAX + 1 if the spec does not tell.
int64_t end_of(const SampleSpec& spec, const Column& column) {
  bool told = spec.classes > 0 && (is_label(column) || !spec.find("labels"));
  return told ? spec.classes : int64_t{INT32_MAX} + 1;
}

// Of packed documents: kernels read the tokens from the place on that a position names.
void check_positions(const Column& column, const void* rows, int64_t count) {
  int64_t row = column.shape.elements();
  std::span all(static_cast<const int32_t*>(rows), static_cast<size_t>(count * row));
  for (int64_t sample = 0; sample < count; ++sample) {
    auto places = all.subspan(static_cast<size_t>(sample * row), static_cast<size_t>(row));
    if (std::optional<int64_t> wrong = misplaced_token(places))
      fail(Category::data,
           "Samples: sample {}: column 'positions' has {} at position {}; a document begins with "
           "0, and each further token has one more",
           sample, places[static_cast<size_t>(*wrong)], *wrong);
  }
}

void check_column(const SampleSpec& spec, const Column& column, const void* rows, int64_t count) {
  if (column.name == "positions" && column.dtype == DType::i32)
    return check_positions(column, rows, count);
  if (!holds_indices(column)) return;
  int64_t row = column.shape.elements(), end = end_of(spec, column);
  int32_t first = first_of(column);
  const auto* begin = static_cast<const int32_t*>(rows);
  const auto* last = begin + count * row;
  const auto* wrong = std::find_if(
      begin, last, [first, end](int32_t number) { return number < first || number >= end; });
  if (wrong == last) return;
  int64_t at = wrong - begin;
  fail(
      Category::data, "Samples: sample {}: column '{}' has {}{}; numbers are {}", at / row,
      column.name, *wrong, row > 1 ? fmt::format(" at position {}", at % row) : "",
      end > INT32_MAX ? fmt::format("{} or more", first) : fmt::format("{} to {}", first, end - 1));
}

}  // namespace

void check_indices(const SampleSpec& spec, const Samples& samples) {
  for (size_t c = 0; c < spec.columns.size(); ++c)
    check_column(spec, spec.columns[c], samples.columns[c].data, samples.count);
}

void check_indices(const SampleSpec& spec, const void* rows, int64_t count) {
  check_column(spec, spec.columns.front(), rows, count);
}

void check_binary(const SampleSpec& spec, const Samples& samples) {
  for (size_t c = 0; c < spec.columns.size(); ++c) {
    if (spec.columns[c].name != "values" || spec.columns[c].dtype != DType::f32) continue;
    int64_t each = spec.columns[c].shape.elements();
    const auto* values = static_cast<const float*>(samples.columns[c].data);
    for (int64_t sample = 0; sample < samples.count; ++sample)
      require_binary(values + sample * each, each,
                     [&] { return fmt::format("Samples: sample {}", sample); });
  }
}

}  // namespace spire
