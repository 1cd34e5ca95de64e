#include "kernels/cpu/onednn.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include <fmt/ranges.h>
#include <omp.h>

#include "engine/base/fail.h"
#include "engine/base/opened_library.h"
#include "engine/device/device_memory.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/onednn_version.h"
#include "kernels/cpu/weight_packing.h"
#include "kernels/kernel.h"

// Weak: null where the linker binds oneDNN (spire_opens() in kernels/CMakeLists.txt).
extern "C" __attribute__((weak, visibility("hidden"))) const spire::OpenedLibrary*
spire_library_dnnl();

namespace spire {

std::string onednn_version() {
  const dnnl_version_t* version = dnnl::version();
  return fmt::format("{}.{}.{}, instruction set {:#x}", version->major, version->minor,
                     version->patch, static_cast<int>(dnnl::get_effective_cpu_isa()));
}

bool onednn_has_bf16() {
  constexpr auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

}  // namespace spire

namespace spire::onednn {

dnnl::memory::data_type data_type(DType dtype) {
  require(dtype == DType::f32 || dtype == DType::bf16,
          "oneDNN kernels support fp32 and bf16, got {}", to_string(dtype));
  return dtype == DType::bf16 && onednn_has_bf16() ? dnnl::memory::data_type::bf16
                                                   : dnnl::memory::data_type::f32;
}

Desc nhwc(const TensorSpec& spec) {
  const Shape& s = spec.shape;
  return Desc({s[0], s[3], s[1], s[2]}, data_type(spec.dtype), Tag::nhwc);
}

Desc row_major(const Dims& dims, DType dtype) {
  Dims strides(dims.size(), 1);
  for (size_t axis = dims.size() - 1; axis > 0; --axis) {
    strides[axis - 1] = strides[axis] * dims[axis];
  }
  return Desc(dims, data_type(dtype), strides);
}

Desc any_layout(const Dims& dims, DType dtype) {
  return Desc(dims, data_type(dtype), Tag::any);
}

namespace {

// OpenMP as oneDNN calls it: in a program with several runtimes it may be another one than Spire's.
struct OpenMp {
  int (*max_threads)() = omp_get_max_threads;
  void (*set_threads)(int) = omp_set_num_threads;

  OpenMp() {
    const OpenedLibrary* library = spire_library_dnnl ? spire_library_dnnl() : nullptr;
    if (!library || !library->isolated()) return;
    void *max = library->find("omp_get_max_threads"), *set = library->find("omp_set_num_threads");
    if (!max || !set) return;
    max_threads = reinterpret_cast<int (*)()>(max);
    set_threads = reinterpret_cast<void (*)(int)>(set);
  }
};

const OpenMp& openmp_of_onednn() {
  static const OpenMp found;
  return found;
}

}  // namespace

TeamSize::TeamSize(int threads) : before_(openmp_of_onednn().max_threads()) {
  openmp_of_onednn().set_threads(threads);
}
TeamSize::~TeamSize() {
  openmp_of_onednn().set_threads(before_);
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

namespace {

// A blocked layout, read from a descriptor of either version. blocks: inner blocks, outermost
// first; block_axes: the axis of each.
struct Layout {
  int data_type;
  Dims dims, strides, blocks, block_axes;
};

Layout layout_of(const Desc& desc) {
#if DNNL_VERSION_MAJOR < 3
  const dnnl_memory_desc_t& d = desc.data;
  require(d.format_kind == dnnl_blocked, "oneDNN chose a layout that has no name");
  const dnnl_blocking_desc_t& b = d.format_desc.blocking;
  auto first = [](const dnnl_dim_t* values, int count) { return Dims(values, values + count); };
  return {d.data_type, first(d.dims, d.ndims), first(b.strides, d.ndims),
          first(b.inner_blks, b.inner_nblks), first(b.inner_idxs, b.inner_nblks)};
#else
  require(desc.get_format_kind() == dnnl::memory::format_kind::blocked,
          "oneDNN chose a layout that has no name");
  return {static_cast<int>(desc.get_data_type()), desc.get_dims(), desc.get_strides(),
          desc.get_inner_blks(), desc.get_inner_idxs()};
#endif
}

// Sets the address only if it changed: oneDNN 2.x clears the padding of a blocked memory whenever
// it is set, and lanes share packed weights.
void set_address(dnnl::memory& memory, void* data) {
  if (memory.get_data_handle() != data) memory.set_data_handle(data);
}

// By the C interface, which reads the arguments in place; the C++ one copies them to a list each
// time.
void execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
             std::span<const dnnl_exec_arg_t> arguments) {
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(arguments.size()),
                             arguments.data()),
      "could not execute a primitive");
}

}  // namespace

std::string form_of(const Desc& desc) {
  Layout layout = layout_of(desc);
  bool f32 = layout.data_type == static_cast<int>(dnnl::memory::data_type::f32);
  std::string form = fmt::format("{} {} strides {}", to_string(f32 ? DType::f32 : DType::bf16),
                                 fmt::join(layout.dims, "x"), fmt::join(layout.strides, ":"));
  // Innermost last: " blocks 16b16a" has 16 of the second axis, each with 16 of the first.
  if (!layout.blocks.empty()) form += " blocks ";
  for (size_t i = 0; i < layout.blocks.size(); ++i) {
    form += fmt::format("{}{}", layout.blocks[i], static_cast<char>('a' + layout.block_axes[i]));
  }
  return form;
}

namespace {

// oneDNN's conversion between layouts. It keeps its memories, so that 2.x clears the padding once.
class PackingReorder {
 public:
  PackingReorder(const Desc& plain, const Desc& wanted, const dnnl::engine& engine)
      : stream_(engine),
        from_(plain, engine, DNNL_MEMORY_NONE),
        to_(wanted, engine, DNNL_MEMORY_NONE),
        reorder_(dnnl::reorder::primitive_desc(engine, plain, engine, wanted)) {}

  void run(const float* from, void* to) {
    set_address(from_, const_cast<float*>(from));  // only read: oneDNN's handles are not const
    set_address(to_, to);
    const std::array<dnnl_exec_arg_t, 2> arguments = {
        {{DNNL_ARG_FROM, from_.get()}, {DNNL_ARG_TO, to_.get()}}};
    execute(reorder_, stream_, arguments);
  }

 private:
  dnnl::stream stream_;
  dnnl::memory from_, to_;
  dnnl::reorder reorder_;
};

// Recognizes layouts that pack_tiles() makes: whole tiles of plain row-major (N, K) weights.
std::optional<TileLayout> tiles_of(const Desc& plain, const Desc& wanted) {
  Layout from = layout_of(plain), to = layout_of(wanted);
  if (to.dims.size() != 2 || from.strides != Dims{from.dims[1], 1}) return {};
  // [k][n] with 16 k, or [k / 2][n][k % 2] with 8 pairs of k.
  bool f32 = to.blocks.size() == 2 && to.blocks[0] == 16 && to.block_axes == Dims{1, 0};
  bool bf16 = to.blocks.size() == 3 && to.blocks[0] == 8 && to.blocks[2] == 2 &&
              to.block_axes == Dims{1, 0, 1};
  if (to.data_type !=
      static_cast<int>(f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16)) {
    return {};
  }
  if (!f32 && !bf16) return {};
  TileLayout tiles{.n = to.dims[0],
                   .k = to.dims[1],
                   .rows = to.blocks[1],
                   .row_stride = to.strides[0],
                   .dtype = f32 ? DType::f32 : DType::bf16};
  bool whole = tiles.n % tiles.rows == 0 && tiles.k % 16 == 0 && tiles.rows % 16 == 0;
  return whole && to.strides[1] == 16 * tiles.rows ? std::optional(tiles) : std::nullopt;
}

}  // namespace

// Tiles are packed by our own code, by rows of tiles in parallel; other layouts by oneDNN in one
// unit.
Packing packing(int input, const Desc& plain, const Desc& wanted, const dnnl::engine& engine,
                bool rounds) {
  auto tiles = tiles_of(plain, wanted);
  if (tiles && !rounds) {
    auto pack = [tiles = *tiles](const float* from, void* to, int64_t first, int64_t last, void*) {
      pack_tiles(tiles, from, to, first * tiles.rows, last * tiles.rows);
    };
    return {input, form_of(wanted),       wanted.get_size(), tiles->n / tiles->rows,
            pack,  tiles->rows * tiles->k};
  }
  auto reorder = std::make_shared<PackingReorder>(plain, wanted, engine);
  size_t rounded = rounds ? wanted.get_size() / sizeof(float) : 0;
  auto pack = [reorder, rounded](const float* from, void* to, int64_t first, int64_t last, void*) {
    if (first == last) return;
    reorder->run(from, to);
    std::span values(static_cast<float*>(to), rounded);
    for (float& value : values) value = static_cast<float>(bfloat16(value));
  };
  return {input, (rounds ? "bf16 in " : "") + form_of(wanted), wanted.get_size(), 1, pack, 0};
}

PrimitiveKernel::PrimitiveKernel(const Op& op, const KernelRequest& request)
    : subject_(describe_request(op, request)),
      threads_(request.threads),
      inputs_(request.inputs.begin(), request.inputs.end()),
      outputs_(request.outputs.begin(), request.outputs.end()),
      widens_(!onednn_has_bf16() &&
              std::ranges::any_of(
                  inputs_, [](const TensorSpec& input) { return input.dtype == DType::bf16; })),
      engine_(dnnl::engine::kind::cpu, 0),
      stream_(engine_) {}

Location PrimitiveKernel::reserve(size_t bytes) {
  size_t offset = workspace_bytes_;
  workspace_bytes_ += align_up(bytes);
  return {Location::Kind::workspace, offset};
}

// Memories and the argument list are made here once, so that run() only sets addresses.
void PrimitiveKernel::append_with_scratchpad(const dnnl::primitive& primitive,
                                             const Desc& scratchpad,
                                             std::vector<Binding> bindings) {
  if (size_t bytes = scratchpad.get_size(); bytes > 0) {
    bindings.push_back({DNNL_ARG_SCRATCHPAD, scratchpad, reserve(bytes)});
  }
  Step step{primitive, {}, {}, {}};
  for (Binding& binding : bindings) {
    if (widens_) binding.location = widened(binding.location);
    dnnl::memory memory(binding.desc, engine_, DNNL_MEMORY_NONE);
    step.locations.push_back(binding.location);
    step.memories.push_back(memory);
    step.arguments.push_back({binding.argument, memory.get()});
  }
  steps_.push_back(std::move(step));
}

// Returns where the primitives find a tensor of the op: in the workspace if it is widened.
Location PrimitiveKernel::widened(const Location& tensor) {
  if (tensor.kind == Location::Kind::workspace) return tensor;
  const TensorSpec& spec =
      (tensor.kind == Location::Kind::input ? inputs_ : outputs_)[tensor.index];
  if (spec.dtype != DType::bf16) return tensor;
  for (const Widened& known : widened_)
    if (known.tensor.kind == tensor.kind && known.tensor.index == tensor.index) return known.floats;
  int64_t elements = spec.shape.elements();
  widened_.push_back({tensor, reserve(static_cast<size_t>(elements) * sizeof(float)), elements});
  return widened_.back().floats;
}

Binding PrimitiveKernel::read_weights(int argument, size_t index, const Desc& plain,
                                      const Desc& wanted) {
  if (plain != wanted || widens_) {
    packings_.push_back(packing(static_cast<int>(index), plain, wanted, engine_, widens_));
  }
  return {argument, wanted, {Location::Kind::input, index}};
}

Binding PrimitiveKernel::write_result(int argument, size_t index, const Desc& plain,
                                      const Desc& made) {
  Location output{Location::Kind::output, index};
  return {argument, made, made == plain ? output : reserve(made.get_size())};
}

void PrimitiveKernel::deliver(const Binding& result, size_t index, const Desc& plain) {
  if (result.location.kind == Location::Kind::output) return;
  dnnl::reorder::primitive_desc desc(engine_, result.desc, engine_, plain, attributes());
  append(desc, dnnl::reorder(desc),
         {{DNNL_ARG_FROM, result.desc, result.location},
          {DNNL_ARG_TO, plain, {Location::Kind::output, index}}});
}

namespace {

void* address(const Location& location, const KernelArgs& args) {
  switch (location.kind) {
    case Location::Kind::input:
      return const_cast<void*>(args.inputs[location.index]);
    case Location::Kind::output:
      return args.outputs[location.index];
    default:
      return args.scratch<char>() + location.index;
  }
}

// In place. Keeps NaN; -0 becomes 0.
void apply_relu(const TensorSpec& spec, int threads, void* values) {
  with_float_type(spec.dtype, [&](auto type) {
    auto* y = static_cast<decltype(type)*>(values);
    elementwise(
        threads, spec.shape.elements(), y, [](auto x) { return x <= 0 ? decltype(x){} : x; }, y);
  });
}

}  // namespace

// Widens the op's inputs, or rounds its outputs.
void PrimitiveKernel::convert(Location::Kind kind, const KernelArgs& args) const {
  for (const Widened& each : widened_) {
    if (each.tensor.kind != kind) continue;
    auto* tensor = static_cast<bfloat16*>(address(each.tensor, args));
    auto* floats = static_cast<float*>(address(each.floats, args));
    auto same = [](const auto& x) { return x; };
    if (kind == Location::Kind::input) {
      elementwise(threads_, each.elements, floats, same, tensor);
    } else {
      elementwise(threads_, each.elements, tensor, same, floats);
    }
  }
}

void PrimitiveKernel::operator()(const KernelArgs& args) try {
  TeamSize team(threads_);
  convert(Location::Kind::input, args);
  for (Step& step : steps_) {
    for (size_t i = 0; i < step.locations.size(); ++i) {
      set_address(step.memories[i], address(step.locations[i], args));
    }
    execute(step.primitive, stream_, step.arguments);
  }
  convert(Location::Kind::output, args);
  if (relu_) apply_relu(*relu_, threads_, args.outputs[0]);
} catch (const dnnl::error& error) {
  fail(Category::device, "{}: oneDNN could not run it: {} (status {})", subject_, error.message,
       static_cast<int>(error.status));
}

std::string describe_request(const Op& op, const KernelRequest& request) {
  auto list = [](TensorSpecs specs) {
    std::vector<std::string> words;
    for (const TensorSpec& spec : specs) words.push_back(to_string(spec));
    return fmt::format("{}", fmt::join(words, ", "));
  };
  return fmt::format("[{}] {} -> {}", op.name(), list(request.inputs), list(request.outputs));
}

void refuse(const Op& op, const KernelRequest& request, const dnnl::error& error) {
  fail(Category::device, "{}: oneDNN could not prepare it: {} (status {})",
       describe_request(op, request), error.message, static_cast<int>(error.status));
}

}  // namespace spire::onednn
