// Operators that only move elements.
#include <numeric>

#include "tests/onnx/reference_run.h"

namespace spire {
namespace {

using Inputs = std::vector<const OnnxArray*>;
using Numbers = std::vector<int64_t>;

Numbers numbers(const OnnxArray& array) {
  return {array.data.begin(), array.data.end()};
}

OnnxArrays transposed(const ParsedNode& node, const Inputs& in) {
  const OnnxArray& x = *in[0];
  Numbers axes = node.ints("perm"), strides(x.dims.size(), 1), dims;
  for (size_t i = x.dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * x.dims[i + 1];
  for (int64_t axis : axes) dims.push_back(x.dims.at(static_cast<size_t>(axis)));
  OnnxArray y = zeros(dims);
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t rest = i, from = 0;
    for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis])
      from += rest % dims[axis] * strides[static_cast<size_t>(axes[axis])];
    y.data[static_cast<size_t>(i)] = x.data[static_cast<size_t>(from)];
  }
  return {y};
}

OnnxArrays count_up(const ParsedNode&, const Inputs& in) {
  OnnxArray y{{}, {}};
  for (double x = in[0]->data[0]; x < in[1]->data[0]; x += in[2]->data[0]) y.data.push_back(x);
  y.dims = {y.size()};
  return {y};
}

OnnxArrays reshaped(const ParsedNode&, const Inputs& in) {
  Numbers dims = numbers(*in[1]);
  int64_t known = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) dims[i] = in[0]->dims.at(i);
    if (dims[i] > 0) known *= dims[i];
  }
  for (int64_t& dim : dims)
    if (dim == -1) dim = in[0]->size() / known;
  OnnxArray y = zeros(dims);
  if (y.size() != in[0]->size()) throw std::runtime_error("a shape of another size");
  y.data = in[0]->data;
  return {y};
}

OnnxArrays flattened(const ParsedNode& node, const Inputs& in) {
  if (node.at("axis").i != 1) throw std::runtime_error("another axis");
  return {{{in[0]->dims[0], in[0]->size() / in[0]->dims[0]}, in[0]->data}};
}

OnnxArrays joined(const ParsedNode& node, const Inputs& in) {
  int64_t axis = node.at("axis").i, before = split_at(*in[0], axis).before;
  OnnxArray y{in[0]->dims, {}};
  y.dims[static_cast<size_t>(axis)] = 0;
  for (const OnnxArray* part : in)
    y.dims[static_cast<size_t>(axis)] += part->dims[static_cast<size_t>(axis)];
  for (int64_t i = 0; i < before; ++i) {
    for (const OnnxArray* part : in) {
      auto run = part->data.begin() + i * (part->size() / before);
      y.data.insert(y.data.end(), run, run + part->size() / before);
    }
  }
  return {y};
}

// The indices `kept` of an axis.
OnnxArray select(const OnnxArray& x, int64_t axis, const Numbers& kept) {
  AxisSplit split = split_at(x, axis);
  OnnxArray y{x.dims, {}};
  y.dims[static_cast<size_t>(axis)] = std::ssize(kept);
  for (int64_t i = 0; i < split.before; ++i) {
    for (int64_t index : kept) {
      auto run = x.data.begin() + (i * split.length + index) * split.behind;
      y.data.insert(y.data.end(), run, run + split.behind);
    }
  }
  return y;
}

Numbers range(int64_t begin, int64_t length) {
  Numbers all(static_cast<size_t>(length));
  std::iota(all.begin(), all.end(), begin);
  return all;
}

OnnxArrays sliced(const ParsedNode&, const Inputs& in) {
  int64_t begin = numbers(*in[1]).at(0), end = numbers(*in[2]).at(0), axis = numbers(*in[3]).at(0);
  return {select(*in[0], axis, range(begin, end - begin))};
}

OnnxArrays split_up(const ParsedNode& node, const Inputs& in) {
  OnnxArrays parts;
  int64_t begin = 0;
  for (int64_t length : numbers(*in[1])) {
    parts.push_back(select(*in[0], node.at("axis").i, range(begin, length)));
    begin += length;
  }
  return parts;
}

// The indices may have several axes, which take the place of the one that is read.
OnnxArrays gathered(const ParsedNode& node, const Inputs& in) {
  int64_t axis = node.at("axis").i;
  OnnxArray y = select(*in[0], axis, numbers(*in[1]));
  auto place = y.dims.begin() + axis;
  place = y.dims.erase(place);
  y.dims.insert(place, in[1]->dims.begin(), in[1]->dims.end());
  return {y};
}

// To a shape with more axes in front.
OnnxArrays expanded(const ParsedNode&, const Inputs& in) {
  OnnxArray y = zeros(numbers(*in[1]));
  for (int64_t i = 0; i < y.size(); ++i)
    y.data[static_cast<size_t>(i)] = in[0]->data[static_cast<size_t>(i % in[0]->size())];
  return {y};
}

OnnxArrays first_extent(const ParsedNode& node, const Inputs& in) {
  if (node.at("start").i != 0 || node.at("end").i != 1) throw std::runtime_error("other axes");
  return {{{1}, {static_cast<double>(in[0]->dims[0])}}};
}

// Zeros behind the end of one axis.
OnnxArrays padded(const ParsedNode&, const Inputs& in) {
  Numbers counts = numbers(*in[1]);
  size_t rank = in[0]->dims.size();
  for (size_t axis = 0; axis < rank; ++axis) {
    if (counts[axis] != 0) throw std::runtime_error("padding in front");
    if (counts[rank + axis] == 0) continue;
    OnnxArray behind = *in[0];
    behind.dims[axis] = counts[rank + axis];
    ParsedNode join;
    join.attributes["axis"].i = static_cast<int64_t>(axis);
    OnnxArray nothing = zeros(behind.dims);
    return joined(join, {in[0], &nothing});
  }
  return {*in[0]};
}

}  // namespace

OnnxFormulas shape_formulas() {
  return {{"Transpose", transposed}, {"Reshape", reshaped}, {"Flatten", flattened},
          {"Concat", joined},        {"Slice", sliced},     {"Split", split_up},
          {"Gather", gathered},      {"Expand", expanded},  {"Shape", first_extent},
          {"Pad", padded},           {"Range", count_up}};
}

}  // namespace spire
