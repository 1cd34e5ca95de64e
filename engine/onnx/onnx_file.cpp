#include "engine/onnx/onnx_file.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <vector>

#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little);  // weights are written as they lie

constexpr uint64_t most_bytes = std::numeric_limits<int32_t>::max();  // of a protocol buffer
constexpr uint64_t page = 4096;  // weights begin at multiples of it, so that readers can map them
constexpr uint64_t least_beside = 1024;  // smaller weights stay in the model's file

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

// Returns true if the model at `path` has weights in `beside`. A broken or missing model has none.
bool is_data_of(const fs::path& path, const fs::path& beside) {
  std::string entry = "location\x12", name = beside.filename().string();  // as elsewhere() has it
  append_varint(entry, name.size());
  entry += name;
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) == 0) return false;
  MappedFile model(path);
  std::string_view text(reinterpret_cast<const char*>(model.bytes().data()), model.bytes().size());
  return text.find(entry) != std::string_view::npos;
}

// Throws Error(config) for the second file of a model that is not there: the user has to say that
// it may go.
void refuse_orphan(const fs::path& beside, const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error) || !fs::is_regular_file(beside, error)) return;
  if (fs::file_size(beside, error) == 0 || error) return;
  fail(Category::config,
       "{}: is there already without its model {}, as an export that was killed leaves it; give "
       "--overwrite, or name another file",
       beside.string(), path.filename().string());
}

// Gives both files their names. The old model goes first: after a kill there is none, rather than
// one over the weights of another.
void commit_both(AtomicWriter& data, AtomicWriter& model, const fs::path& beside,
                 const fs::path& path, Existing existing) {
  fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (existing == Existing::replace && ::unlink(path.c_str()) == 0)
    sync_directory(folder, Category::config);
  data.commit();
  try {
    model.commit();
  } catch (const Error&) {
    ::unlink(beside.c_str());
    fs::path temporary = path;
    temporary += temporary_suffix;
    std::error_code error;
    if (existing == Existing::replace || !fs::exists(path, error)) throw;
    ::unlink(temporary.c_str());  // of no use without the weights
    fail(Category::config, "{}: was created meanwhile and is kept; name another file",
         path.string());
  }
}

}  // namespace

WrittenOnnx write_onnx(const fs::path& path, const OnnxModel& model,
                       std::span<const TensorToWrite> weights, const OnnxFileOptions& options) {
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
  if (plan.bytes > most_bytes)
    fail(Category::config,
         "{}: would have {} bytes without its weights, and a model has at most {}; ONNX cannot "
         "hold it, but .safetensors and .npz hold its weights",
         path.string(), plan.bytes, most_bytes);
  if (plan.data_bytes > 0 && options.existing == Existing::keep) refuse_orphan(beside, path);
  AtomicWriter file(path, Category::config, options.existing);
  std::optional<AtomicWriter> data;
  if (plan.data_bytes > 0) data.emplace(beside, Category::config, options.existing);
  file.write(plan.head);
  std::vector<float> scratch;
  for (size_t i = 0; i < plan.weights.size(); ++i) {
    const WeightPlan& weight = plan.weights[i];
    file.write(weight.field);
    uint64_t at = weight.offset;
    read_in_parts(weights[i], scratch, [&](std::span<const float> part) {
      std::string_view bytes(reinterpret_cast<const char*>(part.data()), part.size_bytes());
      weight.beside ? data->write_at(at, bytes) : file.write(bytes);
      at += bytes.size();
    });
  }
  WrittenOnnx written = {.bytes = plan.bytes, .data_bytes = plan.data_bytes};
  if (data) {
    commit_both(*data, file, beside, path, options.existing);
    written.data = beside;
    return written;
  }
  std::error_code error;
  bool left = fs::exists(beside, error);
  bool ours = left && options.existing == Existing::replace && is_data_of(path, beside);
  file.commit();
  if (ours) left = ::unlink(beside.c_str()) != 0;
  if (ours && !left) written.removed = beside;
  if (left) written.unused = beside;
  return written;
}

}  // namespace spire
