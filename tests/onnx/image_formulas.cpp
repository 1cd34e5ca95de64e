// Operators over images (N, C, H, W).
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/onnx/reference_run.h"

namespace spire {
namespace {

using Inputs = std::vector<const OnnxArray*>;

double& at(OnnxArray& a, int64_t n, int64_t c, int64_t h, int64_t w) {
  return a.data[static_cast<size_t>(((n * a.dims[1] + c) * a.dims[2] + h) * a.dims[3] + w)];
}
double at(const OnnxArray& a, int64_t n, int64_t c, int64_t h, int64_t w) {
  return a.data[static_cast<size_t>(((n * a.dims[1] + c) * a.dims[2] + h) * a.dims[3] + w)];
}

// One axis of a sliding window.
struct Slide {
  int64_t kernel, stride, begin, end, dilation = 1;

  int64_t positions(int64_t in) const {
    return (in + begin + end - dilation * (kernel - 1) - 1) / stride + 1;
  }
  int64_t source(int64_t position, int64_t tap) const {
    return position * stride - begin + tap * dilation;
  }
};

Slide slide_of(const ParsedNode& node, size_t axis) {
  auto pads = node.ints("pads");
  Slide slide{node.ints("kernel_shape").at(axis), node.ints("strides").at(axis), pads.at(axis),
              pads.at(axis + 2)};
  if (node.attributes.contains("dilations")) slide.dilation = node.ints("dilations").at(axis);
  return slide;
}

// Calls visit(n, c, i, j) for all elements of y.
template <typename Visit>
void for_each(const OnnxArray& y, const Visit& visit) {
  for (int64_t n = 0; n < y.dims[0]; ++n)
    for (int64_t c = 0; c < y.dims[1]; ++c)
      for (int64_t i = 0; i < y.dims[2]; ++i)
        for (int64_t j = 0; j < y.dims[3]; ++j) visit(n, c, i, j);
}

// Calls visit(h, w, r, s) for the pixels (h, w) of x that the taps (r, s) of a window cover.
template <typename Visit>
void for_taps(const OnnxArray& x, const Slide& rows, const Slide& columns, int64_t i, int64_t j,
              const Visit& visit) {
  for (int64_t r = 0; r < rows.kernel; ++r) {
    for (int64_t s = 0; s < columns.kernel; ++s) {
      int64_t h = rows.source(i, r), w = columns.source(j, s);
      if (h >= 0 && h < x.dims[2] && w >= 0 && w < x.dims[3]) visit(h, w, r, s);
    }
  }
}

OnnxArrays conv(const ParsedNode& node, const Inputs& in) {
  const OnnxArray &x = *in[0], &weight = *in[1];
  Slide rows = slide_of(node, 0), columns = slide_of(node, 1);
  int64_t channels = weight.dims[1], outputs = weight.dims[0] / node.at("group").i;
  OnnxArray y =
      zeros({x.dims[0], weight.dims[0], rows.positions(x.dims[2]), columns.positions(x.dims[3])});
  for_each(y, [&](int64_t n, int64_t o, int64_t i, int64_t j) {
    double sum = in.size() > 2 ? in[2]->data[static_cast<size_t>(o)] : 0;
    for_taps(x, rows, columns, i, j, [&](int64_t h, int64_t w, int64_t r, int64_t s) {
      for (int64_t c = 0; c < channels; ++c)
        sum += at(x, n, o / outputs * channels + c, h, w) * at(weight, o, c, r, s);
    });
    at(y, n, o, i, j) = sum;
  });
  return {y};
}

// The transpose of a convolution from y to x.
OnnxArrays conv_transpose(const ParsedNode& node, const Inputs& in) {
  const OnnxArray &x = *in[0], &weight = *in[1];
  Slide rows = slide_of(node, 0), columns = slide_of(node, 1);
  auto extent = [&](const Slide& slide, size_t axis) {
    return (x.dims[axis + 2] - 1) * slide.stride + node.ints("output_padding").at(axis) +
           (slide.kernel - 1) * slide.dilation + 1 - slide.begin - slide.end;
  };
  if (node.at("group").i != 1) throw std::runtime_error("groups");
  OnnxArray y = zeros({x.dims[0], weight.dims[1], extent(rows, 0), extent(columns, 1)});
  for_each(x, [&](int64_t n, int64_t c, int64_t i, int64_t j) {
    for_taps(y, rows, columns, i, j, [&](int64_t h, int64_t w, int64_t r, int64_t s) {
      for (int64_t o = 0; o < y.dims[1]; ++o)
        at(y, n, o, h, w) += at(x, n, c, i, j) * at(weight, c, o, r, s);
    });
  });
  if (in.size() > 2)
    for_each(y, [&](int64_t n, int64_t o, int64_t i, int64_t j) {
      at(y, n, o, i, j) += in[2]->data[static_cast<size_t>(o)];
    });
  return {y};
}

OnnxArrays pool(const ParsedNode& node, const Inputs& in) {
  const OnnxArray& x = *in[0];
  bool average = node.op == "AveragePool";
  if (average && node.at("count_include_pad").i != 1) throw std::runtime_error("padding counts");
  Slide rows = slide_of(node, 0), columns = slide_of(node, 1);
  OnnxArray y =
      zeros({x.dims[0], x.dims[1], rows.positions(x.dims[2]), columns.positions(x.dims[3])});
  for_each(y, [&](int64_t n, int64_t c, int64_t i, int64_t j) {
    double sum = 0, most = -std::numeric_limits<double>::infinity();
    for_taps(x, rows, columns, i, j, [&](int64_t h, int64_t w, int64_t, int64_t) {
      sum += at(x, n, c, h, w);
      most = std::max(most, at(x, n, c, h, w));
    });
    auto taps = static_cast<double>(rows.kernel * columns.kernel);
    at(y, n, c, i, j) = average ? sum / taps : most;
  });
  return {y};
}

OnnxArrays global_average_pool(const ParsedNode&, const Inputs& in) {
  const OnnxArray& x = *in[0];
  OnnxArray y = zeros({x.dims[0], x.dims[1], 1, 1});
  auto pixels = static_cast<double>(x.dims[2] * x.dims[3]);
  for_each(x, [&](int64_t n, int64_t c, int64_t i, int64_t j) {
    at(y, n, c, 0, 0) += at(x, n, c, i, j) / pixels;
  });
  return {y};
}

OnnxArrays batch_normalization(const ParsedNode& node, const Inputs& in) {
  OnnxArray y = *in[0];
  AxisSplit split = split_at(y, 1);
  for (int64_t i = 0; i < y.size(); ++i) {
    auto c = static_cast<size_t>(i / split.behind % split.length);
    double scale = in[1]->data[c] / std::sqrt(in[4]->data[c] + double{node.at("epsilon").f});
    double& value = y.data[static_cast<size_t>(i)];
    value = (value - in[3]->data[c]) * scale + in[2]->data[c];
  }
  return {y};
}

// Sources of row i of `to`, with weights.
std::vector<std::pair<int64_t, double>> sources(const ParsedNode& node, int64_t i, int64_t from,
                                                int64_t to) {
  double ratio = static_cast<double>(from) / static_cast<double>(to);
  if (node.at("mode").s == "nearest") {
    if (node.at("coordinate_transformation_mode").s != "asymmetric" ||
        node.at("nearest_mode").s != "floor")
      throw std::runtime_error("another rounding");
    return {{i * from / to, 1}};
  }
  if (node.at("coordinate_transformation_mode").s != "half_pixel")
    throw std::runtime_error("another place of pixels");
  double place = (static_cast<double>(i) + 0.5) * ratio - 0.5;
  auto low = static_cast<int64_t>(std::floor(place));
  double share = place - static_cast<double>(low);
  auto inside = [&](int64_t pixel) { return std::clamp<int64_t>(pixel, 0, from - 1); };
  return {{inside(low), 1 - share}, {inside(low + 1), share}};
}

OnnxArrays resized(const ParsedNode& node, const Inputs& in) {
  const OnnxArray &x = *in[0], &size = *in[3];
  if (node.ints("axes") != std::vector<int64_t>{2, 3}) throw std::runtime_error("other axes");
  OnnxArray y = zeros({x.dims[0], x.dims[1], static_cast<int64_t>(size.data[0]),
                       static_cast<int64_t>(size.data[1])});
  for_each(y, [&](int64_t n, int64_t c, int64_t i, int64_t j) {
    for (auto [h, a] : sources(node, i, x.dims[2], y.dims[2]))
      for (auto [w, b] : sources(node, j, x.dims[3], y.dims[3]))
        at(y, n, c, i, j) += a * b * at(x, n, c, h, w);
  });
  return {y};
}

}  // namespace

OnnxFormulas image_formulas() {
  return {{"Conv", conv},
          {"ConvTranspose", conv_transpose},
          {"MaxPool", pool},
          {"AveragePool", pool},
          {"GlobalAveragePool", global_average_pool},
          {"BatchNormalization", batch_normalization},
          {"Resize", resized}};
}

}  // namespace spire
