// Schemas of samples as a checkpoint holds them.
#include <cmath>

#include "engine/base/fail.h"
#include "engine/data/sample.h"
#include "tests/fuzz/fuzz_target.h"

namespace spire::fuzz {
namespace {

// What is accepted is a description that the engine may rely on, and can be written again.
void check(const SampleSpec& spec) {
  require(!spec.columns.empty() && spec.classes >= 0, "no columns, or {} classes", spec.classes);
  for (const Column& column : spec.columns) {
    for (int64_t dim : column.shape.dims()) require(dim >= 1, "a dimension of {}", dim);
    require(column.shape.elements() >= 1, "{} elements", column.shape.elements());
  }
  const Normalization& by = spec.normalization;
  require(by.mean.size() == by.stddev.size(), "{} means", by.mean.size());
  for (size_t i = 0; i < by.mean.size(); ++i)
    require(std::isfinite(by.mean[i]) && std::isfinite(by.stddev[i]) && by.stddev[i] > 0,
            "mean {} and stddev {}", by.mean[i], by.stddev[i]);
  require(sample_spec_from_text(to_text(spec)) == spec, "a description reads back as another");
}

}  // namespace

int consume(const uint8_t* data, size_t size) {
  std::string text(data, data + size);
  SampleSpec spec;
  int verdict = parse_or_refuse(Category::checkpoint, [&] { spec = sample_spec_from_text(text); });
  if (verdict == accepted) {
    try {
      check(spec);
    } catch (const Error& error) {
      fail(Category::unexpected, "{}", error.what());
    }
  }
  return verdict;
}

std::vector<Bytes> seeds() {
  SampleSpec least = {.columns = {{"values", {}, DType::f32}}};
  SampleSpec images = {.columns = {{"images", {8, 6, 1}, DType::bf16}, {"labels", {}, DType::i32}},
                       .classes = 2,
                       .class_names = {"a \"b\"", "\xc3\xb6\n"},
                       .normalization = {{0.25}, {1e-30}}};
  SampleSpec features = {.columns = {{"features", {2}}, {"values", {3}}},
                         .normalization = {{-5e-324, 1e300}, {1.0 / 3.0, 7}},
                         .feature_names = {"x", ""}};
  SampleSpec tokens = {.columns = {{"tokens", {64}, DType::i32}, {"targets", {64}, DType::i32}},
                       .classes = 50257,
                       .vocabulary = "characters:\"a\\n\""};
  std::vector<Bytes> seeds;
  for (const SampleSpec& spec : {least, images, features, tokens})
    seeds.push_back(bytes_of(to_text(spec)));
  return seeds;
}

}  // namespace spire::fuzz
