#include <protozero/pbf_builder.hpp>
#include <protozero/varint.hpp>

#include "engine/base/fail.h"
#include "engine/onnx/onnx_file.h"

namespace spire {
namespace {

// Numbers of the fields, as onnx.proto has them.
enum class ModelField : uint32_t {
  ir_version = 1,
  producer_name = 2,
  producer_version = 3,
  doc_string = 6,
  graph = 7,
  opset_import = 8,
  metadata_props = 14,
};
enum class GraphField : uint32_t { node = 1, name = 2, initializer = 5, input = 11, output = 12 };
enum class NodeField : uint32_t { input = 1, output = 2, name = 3, op_type = 4, attribute = 5 };
enum class AttributeField : uint32_t { name = 1, f = 2, i = 3, s = 4, ints = 8, type = 20 };
enum class InitializerField : uint32_t {
  dims = 1,
  data_type = 2,
  name = 8,
  raw_data = 9,
  external_data = 13,
  data_location = 14,
};
enum class ValueInfoField : uint32_t { name = 1, type = 2 };
enum class TypeField : uint32_t { tensor_type = 1 };
enum class TensorTypeField : uint32_t { elem_type = 1, shape = 2 };
enum class TensorShapeField : uint32_t { dim = 1 };
enum class TensorDimField : uint32_t { dim_value = 1, dim_param = 2 };
enum class OpsetField : uint32_t { version = 2 };
enum class EntryField : uint32_t { key = 1, value = 2 };

// AttributeProto.AttributeType and TensorProto.DataLocation.
constexpr int32_t type_float = 1, type_int = 2, type_string = 3, type_ints = 7;
constexpr int32_t external = 1;
constexpr const char* batch_name = "batch";

template <typename Field>
using ProtoMessage = protozero::pbf_builder<Field>;

// The version of the file format in which an operator set appeared.
int64_t ir_version(int64_t opset) {
  if (opset >= 23) return 11;
  if (opset >= 21) return 10;
  return opset >= 19 ? 9 : 8;
}

template <typename Field>
void append_length_tag(std::string& bytes, Field field) {
  constexpr uint64_t length_delimited = 2;
  append_varint(bytes, uint64_t{static_cast<uint32_t>(field)} << 3 | length_delimited);
}

template <typename Parent, typename Field>
void add_entry(ProtoMessage<Parent>& parent, Field field, const std::string& key,
               const std::string& value) {
  ProtoMessage<EntryField> entry(parent, field);
  entry.add_string(EntryField::key, key);
  entry.add_string(EntryField::value, value);
}

void add_value(ProtoMessage<AttributeField>& attribute, int64_t number) {
  attribute.add_int64(AttributeField::i, number);
  attribute.add_enum(AttributeField::type, type_int);
}
void add_value(ProtoMessage<AttributeField>& attribute, float number) {
  attribute.add_float(AttributeField::f, number);
  attribute.add_enum(AttributeField::type, type_float);
}
void add_value(ProtoMessage<AttributeField>& attribute, const std::string& text) {
  attribute.add_bytes(AttributeField::s, text);
  attribute.add_enum(AttributeField::type, type_string);
}
void add_value(ProtoMessage<AttributeField>& attribute, const std::vector<int64_t>& numbers) {
  for (int64_t number : numbers) attribute.add_int64(AttributeField::ints, number);
  attribute.add_enum(AttributeField::type, type_ints);
}

void add_node(ProtoMessage<GraphField>& graph, const OnnxNode& node) {
  ProtoMessage<NodeField> message(graph, GraphField::node);
  for (const std::string& input : node.inputs) message.add_string(NodeField::input, input);
  for (const std::string& output : node.outputs) message.add_string(NodeField::output, output);
  message.add_string(NodeField::name, node.name);
  message.add_string(NodeField::op_type, node.op);
  for (const OnnxAttribute& attribute : node.attributes) {
    ProtoMessage<AttributeField> field(message, NodeField::attribute);
    field.add_string(AttributeField::name, attribute.name);
    std::visit([&](const auto& value) { add_value(field, value); }, attribute.value);
  }
}

void add_dim(ProtoMessage<TensorShapeField>& shape, const OnnxDim& dim) {
  ProtoMessage<TensorDimField> message(shape, TensorShapeField::dim);
  if (!dim.times_batch) {
    message.add_int64(TensorDimField::dim_value, dim.size);
  } else {
    message.add_string(TensorDimField::dim_param,
                       dim.size == 1 ? batch_name : fmt::format("{}*{}", dim.size, batch_name));
  }
}

void add_tensor(ProtoMessage<GraphField>& graph, GraphField field, const OnnxTensor& tensor) {
  ProtoMessage<ValueInfoField> info(graph, field);
  info.add_string(ValueInfoField::name, tensor.name);
  ProtoMessage<TypeField> type(info, ValueInfoField::type);
  ProtoMessage<TensorTypeField> tensor_type(type, TypeField::tensor_type);
  tensor_type.add_enum(TensorTypeField::elem_type, static_cast<int32_t>(tensor.type));
  ProtoMessage<TensorShapeField> shape(tensor_type, TensorTypeField::shape);
  for (const OnnxDim& dim : tensor.dims) add_dim(shape, dim);
}

template <typename Dims>
void describe(ProtoMessage<InitializerField>& message, const std::string& name, OnnxType type,
              const Dims& dims) {
  for (int64_t dim : dims) message.add_int64(InitializerField::dims, dim);
  message.add_enum(InitializerField::data_type, static_cast<int32_t>(type));
  message.add_string(InitializerField::name, name);
}

void add_constant(ProtoMessage<GraphField>& graph, const OnnxConstant& constant) {
  ProtoMessage<InitializerField> message(graph, GraphField::initializer);
  describe(message, constant.name, constant.type, constant.dims);
  message.add_bytes(InitializerField::raw_data, constant.bytes);
}

}  // namespace

void append_varint(std::string& bytes, uint64_t number) {
  protozero::add_varint_to_buffer(&bytes, number);
}

// A message is complete when its builder is destroyed.
ModelBytes model_bytes(const OnnxModel& model) {
  ModelBytes bytes;
  {
    ProtoMessage<ModelField> message(bytes.before_graph);
    message.add_int64(ModelField::ir_version, ir_version(model.opset));
    message.add_string(ModelField::producer_name, "Spire");
    message.add_string(ModelField::producer_version, model.producer_version);
    message.add_string(ModelField::doc_string, model.doc);
    ProtoMessage<OpsetField>(message, ModelField::opset_import)
        .add_int64(OpsetField::version, model.opset);
    for (const auto& [key, value] : model.metadata)
      add_entry(message, ModelField::metadata_props, key, value);
  }
  append_length_tag(bytes.before_graph, ModelField::graph);
  ProtoMessage<GraphField> graph(bytes.graph);
  for (const OnnxNode& node : model.graph.nodes) add_node(graph, node);
  graph.add_string(GraphField::name, model.graph.name);
  add_tensor(graph, GraphField::input, model.graph.input);
  add_tensor(graph, GraphField::output, model.graph.output);
  for (const OnnxConstant& constant : model.graph.constants) add_constant(graph, constant);
  return bytes;
}

std::string weight_before_values(const OnnxWeight& weight) {
  uint64_t bytes = static_cast<uint64_t>(weight.shape.elements()) * sizeof(float);
  std::string message;
  {
    ProtoMessage<InitializerField> builder(message);
    describe(builder, weight.name, OnnxType::float32, weight.shape.dims());
  }
  append_length_tag(message, InitializerField::raw_data);
  append_varint(message, bytes);
  std::string field;
  append_length_tag(field, GraphField::initializer);
  append_varint(field, message.size() + bytes);
  return field + message;
}

std::string weight_elsewhere(const OnnxWeight& weight, const ExternalPlace& place) {
  std::string message;
  {
    ProtoMessage<InitializerField> builder(message);
    describe(builder, weight.name, OnnxType::float32, weight.shape.dims());
    add_entry(builder, InitializerField::external_data, "location", place.file);
    add_entry(builder, InitializerField::external_data, "offset", std::to_string(place.offset));
    add_entry(builder, InitializerField::external_data, "length", std::to_string(place.bytes));
    builder.add_enum(InitializerField::data_location, external);
  }
  std::string field;
  append_length_tag(field, GraphField::initializer);
  append_varint(field, message.size());
  return field + message;
}

}  // namespace spire
