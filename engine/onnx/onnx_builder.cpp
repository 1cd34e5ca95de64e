#include "engine/onnx/onnx_builder.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/onnx/emitters.h"

namespace spire {
namespace {

bool has_channels(const OnnxDims& dims) {
  return dims.size() >= 3;
}

// Returns true if the elements lie alike in both orders: one channel, or one place.
bool orders_agree(const OnnxDims& dims) {
  auto one = [](const OnnxDim& dim) { return dim == OnnxDim{}; };
  return one(dims.back()) || std::all_of(dims.begin() + 1, dims.end() - 1, one);
}

OnnxDims with_channels_first(OnnxDims dims) {
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  return dims;
}

// The permutation by which Transpose moves the last axis behind the first, or back.
std::vector<int64_t> permutation(size_t rank, Channels to) {
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  auto begin = to == Channels::first ? axes.end() - 1 : axes.begin() + 2;
  std::rotate(axes.begin() + 1, begin, axes.end());
  return axes;
}

// The layer of a node: what its first parameter belongs to ("conv1" of "conv1.weight"), else its
// block, else nothing.
std::string layer_of(const Graph& graph, const Node& node) {
  for (Value input : node.inputs) {
    const Tensor& tensor = graph.tensor(input);
    if (tensor.role == Role::parameter || tensor.role == Role::state)
      return tensor.name.substr(0, tensor.name.rfind('.'));
  }
  return node.block < 0 ? "" : graph.blocks()[static_cast<size_t>(node.block)];
}

}  // namespace

OnnxBuilder::OnnxBuilder(const BatchGraphs& graphs, int64_t opset)
    : graphs_(graphs),
      opset_(opset),
      places_(static_cast<size_t>(graphs.one.value_count())),
      readers_(places_.size()) {
  require(graphs.one.value_count() == graphs.two.value_count(),
          "the graph of a model depends on the number of samples");
  for (size_t n = 0; n < graph().nodes().size(); ++n)
    for (Value input : graph().nodes()[n].inputs) readers_[index_of(input)].push_back(n);
  Value input = graph().values_of(Role::input).at(0);
  const Tensor& tensor = graph().tensor(input);
  bool images = tensor.spec.shape.rank() == 4;
  OnnxDims dims = this->dims(input);
  result_.input = {.name = tensor.name,
                   .type = tensor.spec.dtype == DType::i32 ? OnnxType::int64 : OnnxType::float32,
                   .dims = images ? with_channels_first(dims) : dims};
  tensor_names_.insert(tensor.name);
  define(input, tensor.name, images ? Channels::first : Channels::last);
  for (Role role : {Role::parameter, Role::state}) {
    for (Value value : graph().values_of(role)) {
      const Tensor& weight = graph().tensor(value);
      if (readers_[index_of(value)].empty()) continue;
      result_.weights.push_back({weight.name, weight.spec.shape});
      tensor_names_.insert(weight.name);
      define(value, weight.name);
    }
  }
}

void OnnxBuilder::begin(const Node& node) {
  layer_ = layer_of(graph(), node);
}

OnnxDims OnnxBuilder::dims(Value value) const {
  const Shape &one = graphs_.one.spec(value).shape, &two = graphs_.two.spec(value).shape;
  OnnxDims dims;
  for (int axis = 0; axis < one.rank(); ++axis) {
    int64_t more = two[axis] - one[axis];  // by one sample more
    dims.push_back(more == 0 ? OnnxDim{one[axis], false} : OnnxDim{more, true});
  }
  return dims;
}

OnnxBuilder::Place& OnnxBuilder::place(Value value) {
  require(is_defined(value), "a value is read before it is defined");
  return *places_[index_of(value)];
}

OnnxBuilder::Place& OnnxBuilder::shaped(Value value) {
  Place& from = place(value);
  OnnxDims to = dims(value);
  if (from.dims == to) return from;
  // Saves a Transpose.
  bool as_first = from.last.empty() && !from.first.empty() && orders_agree(from.dims);
  std::string tensor = as_first ? from.first : last_of(from);
  bool flat = to.size() == 2 && to[0] == from.dims[0] && from.dims.size() > 2;
  tensor = flat ? add("Flatten", {tensor}, {{"axis", int64_t{1}}})
                : add("Reshape", {tensor, target_shape(to, from.dims)});
  define(value, tensor);
  return place(value);
}

std::string OnnxBuilder::transposed(const std::string& tensor, std::vector<int64_t> axes) {
  return add("Transpose", {tensor}, {{"perm", std::move(axes)}});
}

std::string& OnnxBuilder::last_of(Place& place) {
  if (!place.last.empty()) return place.last;
  if (place.first.empty()) return place.last = transposed(place.steps, {1, 0, 2});
  return place.last = transposed(place.first, permutation(place.dims.size(), Channels::last));
}

std::string& OnnxBuilder::first_of(Place& place) {
  require(has_channels(place.dims), "a tensor without places has no channels to move");
  if (!place.first.empty()) return place.first;
  if (place.last.empty()) return place.first = transposed(place.steps, {1, 2, 0});
  return place.first = transposed(place.last, permutation(place.dims.size(), Channels::first));
}

std::string OnnxBuilder::plain(Value value) {
  return last_of(shaped(value));
}

std::string OnnxBuilder::channels_first(Value value) {
  return first_of(shaped(value));
}

std::string OnnxBuilder::by_step(Value value) {
  Place& from = shaped(value);
  require(from.dims.size() == 3, "only sequences have steps");
  if (!from.steps.empty()) return from.steps;
  if (from.last.empty()) return from.steps = transposed(from.first, {2, 0, 1});
  return from.steps = transposed(from.last, {1, 0, 2});
}

std::string OnnxBuilder::transposed_weight(Value value) {
  std::string weight = plain(value);
  std::string& tensor = transposed_[weight];
  if (tensor.empty()) tensor = transposed(weight, {1, 0});
  return tensor;
}

bool OnnxBuilder::is_channels_first(Value value) const {
  const auto& place = places_[index_of(value)];
  return place && place->native == Channels::first && place->dims == dims(value);
}

void OnnxBuilder::define(Value value, std::string tensor, Channels order) {
  set(value, dims(value), std::move(tensor), order);
}

void OnnxBuilder::set(Value value, OnnxDims dims, std::string tensor, Channels order) {
  auto place = std::make_shared<Place>();
  place->dims = std::move(dims);
  place->native = order;
  (order == Channels::first ? place->first : place->last) = std::move(tensor);
  places_[index_of(value)] = std::move(place);
}

void OnnxBuilder::define_by_step(Value value, std::string tensor) {
  auto place = std::make_shared<Place>();
  place->dims = dims(value);
  place->steps = std::move(tensor);
  places_[index_of(value)] = std::move(place);
}

void OnnxBuilder::define_view(Value value, Value of) {
  place(of);
  places_[index_of(value)] = places_[index_of(of)];
}

std::string OnnxBuilder::any_form(Value value) {
  Place& from = place(value);
  return from.native == Channels::first ? first_of(from) : last_of(from);
}

std::pair<std::string, std::string> OnnxBuilder::same_form(Value a, Value b) {
  if (place(a).dims != place(b).dims) {
    shaped(a);
    shaped(b);
  }
  Place &left = place(a), &right = place(b);
  // The result has the form of `a`, so that its order is the one to take.
  if (left.native == Channels::last && right.native == Channels::first) {
    first_of(left);
    left.native = Channels::first;
  }
  if (left.native == Channels::first) return {first_of(left), first_of(right)};
  return {last_of(left), last_of(right)};
}

void OnnxBuilder::define_as(Value value, std::string tensor, Value like) {
  const Place& model = place(like);
  set(value, model.dims, std::move(tensor), model.native);
}

std::optional<std::pair<std::string, std::string>> OnnxBuilder::unshaped(Value x, Value b) {
  Place &data = place(x), &addend = place(b);
  bool reshaped = data.dims != dims(x) && data.native == Channels::last;
  if (!reshaped || addend.native == Channels::first) return {};
  if (!std::equal(data.dims.begin() + 1, data.dims.end(), addend.dims.begin(), addend.dims.end()))
    return {};
  return std::pair(last_of(data), last_of(addend));
}

const Node* OnnxBuilder::only_reader(Value value) const {
  for (const auto& [name, output] : graph().outputs())
    if (output == value) return nullptr;
  const auto& readers = readers_[index_of(value)];
  return readers.size() == 1 ? &graph().nodes()[readers[0]] : nullptr;
}

std::string OnnxBuilder::unique(const std::string& name, std::set<std::string>& taken) {
  std::string result = name;
  for (int i = 2; !taken.insert(result).second; ++i) result = fmt::format("{}_{}", name, i);
  return result;
}

std::vector<std::string> OnnxBuilder::add_many(const std::string& op,
                                               std::vector<std::string> inputs,
                                               std::vector<OnnxAttribute> attributes,
                                               size_t outputs) {
  OnnxNode node{op,
                unique(layer_.empty() ? op : layer_ + "." + op, node_names_),
                std::move(inputs),
                {},
                std::move(attributes)};
  for (size_t i = 0; i < outputs; ++i)
    node.outputs.push_back(
        unique(outputs == 1 ? node.name : fmt::format("{}.{}", node.name, i), tensor_names_));
  result_.nodes.push_back(std::move(node));
  return result_.nodes.back().outputs;
}

std::string OnnxBuilder::add(const std::string& op, std::vector<std::string> inputs,
                             std::vector<OnnxAttribute> attributes) {
  return add_many(op, std::move(inputs), std::move(attributes), 1).front();
}

std::string OnnxBuilder::constant(const std::string& name, OnnxType type, std::vector<int64_t> dims,
                                  std::string bytes) {
  // The name says the content.
  if (tensor_names_.insert(name).second)
    result_.constants.push_back({name, type, std::move(dims), std::move(bytes)});
  return name;
}

std::string OnnxBuilder::whole_numbers(const std::vector<int64_t>& numbers) {
  std::string bytes(numbers.size() * sizeof(int64_t), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return constant(fmt::format("int64[{}]", fmt::join(numbers, ",")), OnnxType::int64,
                  {std::ssize(numbers)}, std::move(bytes));
}

std::string OnnxBuilder::number(float value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, bytes.size());
  return constant(fmt::format("float32[{}]", value), OnnxType::float32, {}, std::move(bytes));
}

std::string OnnxBuilder::numbers(const std::string& name, const std::vector<int64_t>& dims,
                                 const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return constant(name, OnnxType::float32, dims, std::move(bytes));
}

std::string OnnxBuilder::causal_mask(int64_t length) {
  std::string& mask = causal_masks_[length];
  if (!mask.empty()) return mask;
  auto scalar = [&](int64_t number) {
    std::string bytes(sizeof number, '\0');
    std::memcpy(bytes.data(), &number, bytes.size());
    return constant(fmt::format("int64_scalar[{}]", number), OnnxType::int64, {}, std::move(bytes));
  };
  std::string columns = add("Range", {scalar(0), scalar(length), scalar(1)});
  std::string rows = add("Reshape", {columns, whole_numbers({length, 1})});
  mask = add("LessOrEqual", {columns, rows});
  return mask;
}

// 0 copies a dimension of the tensor that is reshaped, -1 is what the others leave.
std::string OnnxBuilder::target_shape(const OnnxDims& to, const OnnxDims& from) {
  std::vector<int64_t> numbers;
  for (size_t axis = 0; axis < to.size(); ++axis) {
    bool copied = axis == 0 && to[0] == from[0];
    numbers.push_back(!to[axis].times_batch ? to[axis].size : copied ? 0 : -1);
  }
  require(std::ranges::count(numbers, -1) <= 1, "a shape with two open dimensions");
  return whole_numbers(numbers);
}

std::string OnnxBuilder::shape_tensor(const OnnxDims& dims) {
  std::vector<int64_t> known;
  for (const OnnxDim& dim : dims)
    if (!dim.times_batch) known.push_back(dim.size);
  if (known.size() == dims.size()) return whole_numbers(known);
  require(dims[0] == OnnxDim{1, true} && known.size() + 1 == dims.size(),
          "a shape whose first dimension is not the number of samples");
  if (batch_.empty())
    batch_ = add("Shape", {result_.input.name}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  return add("Concat", {batch_, whole_numbers(known)}, {{"axis", int64_t{0}}});
}

void OnnxBuilder::rename(const std::string& from, const std::string& to) {
  for (OnnxNode& node : result_.nodes) {
    std::ranges::replace(node.inputs, from, to);
    std::ranges::replace(node.outputs, from, to);
  }
}

OnnxGraph OnnxBuilder::finish(const std::string& output, bool images) {
  layer_.clear();
  Value value = graph().outputs().at("output");
  std::string tensor = images ? channels_first(value) : plain(value);
  auto made = [&](const OnnxNode& node) { return std::ranges::count(node.outputs, tensor) > 0; };
  if (std::ranges::none_of(result_.nodes, made)) tensor = add("Identity", {tensor});
  require(!tensor_names_.contains(output), "two tensors called {}", output);
  rename(tensor, output);
  OnnxDims dims = this->dims(value);
  result_.output = {.name = output, .dims = images ? with_channels_first(dims) : dims};
  return std::move(result_);
}

namespace {

const OnnxEmitter& emitter_of(const Op& op) {
  for (auto emitters : {element_emitters(), image_emitters(), matrix_emitters()})
    if (auto found = std::ranges::find(emitters, op.name(), &OnnxEmitter::op);
        found != emitters.end())
      return *found;
  fail(Category::config, "[{}] has no form in ONNX here; it needs an emitter in engine/onnx",
       op.name());
}

}  // namespace

OnnxGraph to_onnx(const BatchGraphs& graphs, int64_t opset, const std::string& output,
                  bool images) {
  OnnxBuilder builder(graphs, opset);
  for (const Node& node : graphs.one.nodes()) {
    if (builder.is_defined(node.outputs[0])) continue;  // with the node before it
    const OnnxEmitter& emitter = emitter_of(*node.op);
    builder.begin(node);
    emitter.emit(builder, node);
  }
  return builder.finish(output, images);
}

}  // namespace spire
