#include "engine/onnx/onnx_file.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <vector>

#include "engine/onnx/onnx_messages.h"

namespace spire::inline onnx {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little);  // weights are written as they lie

constexpr uint64_t most_bytes = std::numeric_limits<int32_t>::max();  // of a protocol buffer
constexpr uint64_t page = 4096;  // weights begin at multiples of it, so that readers can map them
constexpr uint64_t least_beside = 1024;      // smaller weights stay in the model's file
constexpr int64_t piece = int64_t{1} << 20;  // floats read at a time

uint64_t bytes_of(const OnnxWeight& weight) {
  return static_cast<uint64_t>(weight.shape.elements()) * sizeof(float);
}

struct WeightPlan {
  std::string field;    // of the graph; the values follow it, or lie beside the model
  bool beside = false;  // in the second file, from byte `offset` on
  uint64_t offset = 0;
};

struct OnnxFilePlan {
  std::string head;  // of the model's file: all that precedes the weights
  std::vector<WeightPlan> weights;
  uint64_t bytes = 0;       // size of the model's file
  uint64_t data_bytes = 0;  // size of the second file; 0: there is none
};

// data: name of the second file; empty if all weights go into the model's.
OnnxFilePlan plan_file(const OnnxModel& model, const std::string& data) {
  OnnxFilePlan plan;
  ModelBytes bytes = model_bytes(model);
  uint64_t graph = bytes.graph.size();
  for (const OnnxWeight& weight : model.graph.weights) {
    uint64_t values = bytes_of(weight), offset = (plan.data_bytes + page - 1) / page * page;
    bool beside = !data.empty() && values >= least_beside;
    std::string field =
        beside ? weight_elsewhere(weight, {data, offset, values}) : weight_before_values(weight);
    graph += field.size() + (beside ? 0 : values);
    if (beside) plan.data_bytes = offset + values;
    plan.weights.push_back({std::move(field), beside, offset});
  }
  plan.head = std::move(bytes.before_graph);
  append_varint(plan.head, graph);
  plan.bytes = plan.head.size() + graph;
  plan.head += bytes.graph;
  return plan;
}

// Calls take(byte offset in the weight, bytes) with all values of a weight.
template <typename Take>
void in_pieces(const OnnxWeight& weight, size_t index, const ReadWeight& read,
               std::vector<float>& scratch, const Take& take) {
  int64_t elements = weight.shape.elements();
  for (int64_t done = 0; done < elements; done += piece) {
    scratch.resize(static_cast<size_t>(std::min(piece, elements - done)));
    read(index, done, scratch);
    take(static_cast<uint64_t>(done) * sizeof(float),
         std::string_view(reinterpret_cast<const char*>(scratch.data()),
                          scratch.size() * sizeof(float)));
  }
}

}  // namespace

WrittenOnnx write_onnx(const fs::path& path, const OnnxModel& model, const ReadWeight& read,
                       const OnnxFileOptions& options) {
  fs::path beside = path;
  beside += ".data";
  bool split = options.weights == WeightPlace::beside;
  OnnxFilePlan plan = plan_file(model, split ? beside.filename().string() : "");
  if (!split && plan.bytes > most_bytes) {
    if (options.weights == WeightPlace::inside)
      fail(
          Category::config,
          "{}: would have {} bytes, and a model in one file has at most {}; let its weights lie in "
          "a second file",
          path.string(), plan.bytes, most_bytes);
    plan = plan_file(model, beside.filename().string());
  }
  AtomicWriter file(path, Category::config, options.existing);
  std::optional<AtomicWriter> data;
  if (plan.data_bytes > 0) data.emplace(beside, Category::config, options.existing);
  file.write(plan.head);
  std::vector<float> scratch;
  for (size_t i = 0; i < plan.weights.size(); ++i) {
    const WeightPlan& weight = plan.weights[i];
    file.write(weight.field);
    in_pieces(model.graph.weights[i], i, read, scratch,
              [&](uint64_t offset, std::string_view values) {
                weight.beside ? data->write_at(weight.offset + offset, values) : file.write(values);
              });
  }
  // The model last: whoever finds it finds its weights.
  if (data) data->commit();
  file.commit();
  return {.bytes = plan.bytes, .data = data ? beside : fs::path(), .data_bytes = plan.data_bytes};
}

}  // namespace spire::inline onnx
