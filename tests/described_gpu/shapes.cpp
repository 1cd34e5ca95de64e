#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <tests/described_gpu/shapes.h>

#include "engine/base/fail.h"

namespace spire::testing {
namespace {

// A line is "convolution" or "attention", then numbers.
template <typename... Numbers>
void write_line(const char* what, const Numbers&... numbers) {
  const char* file = std::getenv("SPIRE_SHAPES_FILE");
  if (!file) return;
  std::ostringstream line;
  line << what;
  ((line << ' ' << numbers), ...);
  line << '\n';
  std::ofstream(file, std::ios::app) << line.str();  // at once: several processes may write
}

class Line {
 public:
  explicit Line(const std::string& text) : words_(text) { words_ >> what; }

  std::string what;

  template <typename T>
  T next() {
    double value = 0;
    require(static_cast<bool>(words_ >> value), "a line of shapes that ends too early");
    return static_cast<T>(value);
  }
  Shape axes() {
    auto n = next<int64_t>(), h = next<int64_t>(), w = next<int64_t>(), c = next<int64_t>();
    return {n, h, w, c};
  }
  Extent2d extent() {
    auto h = next<int64_t>(), w = next<int64_t>();
    return {h, w};
  }

 private:
  std::istringstream words_;
};

ConvolutionShape read_convolution(Line& line) {
  ConvolutionShape s;
  s.pass = line.next<ConvolutionPass>();
  s.x = line.axes();
  s.y = line.axes();
  s.window.kernel = line.extent();
  s.window.stride = line.extent();
  s.window.padding = line.extent();
  s.window.dilation = line.extent();
  s.groups = line.next<int64_t>();
  s.dtype = line.next<DType>();
  s.bias = line.next<bool>();
  s.relu = line.next<bool>();
  return s;
}

AttentionShape read_attention(Line& line) {
  AttentionShape s;
  s.pass = line.next<AttentionPass>();
  s.batch = line.next<int64_t>();
  s.length = line.next<int64_t>();
  s.heads = line.next<int64_t>();
  s.size = line.next<int64_t>();
  s.dtype = line.next<DType>();
  s.causal = line.next<bool>();
  s.dropout = line.next<float>();
  s.kv_heads = line.next<int64_t>();
  return s;
}

int64_t alignment(int64_t channels) {
  return channels % 8 == 0 ? 8 : channels % 2 == 0 ? 2 : 1;
}

std::string kind(const ConvolutionShape& s) {
  const auto& [kernel, stride, padding, dilation] = s.window;
  return fmt::format("{} {} {} {} {} {} {} {} {} {}", static_cast<int>(s.pass), to_string(s.dtype),
                     kernel == Extent2d{1, 1}, stride == Extent2d{1, 1}, dilation.h > 1,
                     alignment(s.x[3]), alignment(s.y[3]), s.groups > 1, s.bias, s.relu);
}

std::string kind(const AttentionShape& s) {
  return fmt::format("{} {} {} {} {} {}", static_cast<int>(s.pass), to_string(s.dtype), s.size,
                     s.causal, s.dropout > 0, s.is_grouped());
}

// Keeps the first shape of each kind.
template <typename ShapeType>
std::vector<ShapeType> firsts(const std::vector<ShapeType>& shapes) {
  std::set<std::string> kinds;
  std::vector<ShapeType> found;
  for (const ShapeType& shape : shapes)
    if (kinds.insert(kind(shape)).second) found.push_back(shape);
  return found;
}

}  // namespace

void note(const ConvolutionShape& s) {
  const auto& [kernel, stride, padding, dilation] = s.window;
  write_line("convolution", static_cast<int>(s.pass), s.x[0], s.x[1], s.x[2], s.x[3], s.y[0],
             s.y[1], s.y[2], s.y[3], kernel.h, kernel.w, stride.h, stride.w, padding.h, padding.w,
             dilation.h, dilation.w, s.groups, static_cast<int>(s.dtype), s.bias, s.relu);
}

void note(const AttentionShape& s) {
  write_line("attention", static_cast<int>(s.pass), s.batch, s.length, s.heads, s.size,
             static_cast<int>(s.dtype), s.causal, s.dropout, s.kv_heads);
}

Shapes read_shapes(const std::filesystem::path& file) {
  std::ifstream in(file);
  require(in.is_open(), "{} is not there", file.string());
  std::set<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.insert(line);
  Shapes shapes;
  for (const std::string& text : lines) {
    Line line(text);
    if (line.what == "convolution") shapes.convolutions.push_back(read_convolution(line));
    if (line.what == "attention") shapes.attentions.push_back(read_attention(line));
  }
  return shapes;
}

Shapes one_of_each_kind(const Shapes& shapes) {
  return {firsts(shapes.convolutions), firsts(shapes.attentions)};
}

}  // namespace spire::testing
