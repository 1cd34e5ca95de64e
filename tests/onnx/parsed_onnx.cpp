#include "tests/onnx/parsed_onnx.h"

#include <functional>
#include <stdexcept>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

#include "tests/base/folder.h"

namespace spire {
namespace {

using protozero::pbf_reader;

// What to do with the value of each field of a message; another field is an error.
using Fields = std::map<uint32_t, std::function<void(pbf_reader&)>>;
void read_fields(pbf_reader reader, const char* message, const Fields& fields) {
  while (reader.next()) {
    auto found = fields.find(reader.tag());
    if (found == fields.end())
      throw std::runtime_error(fmt::format("{} has field {}", message, reader.tag()));
    found->second(reader);
  }
}

std::pair<std::string, std::string> entry_of(pbf_reader message) {
  std::pair<std::string, std::string> entry;
  read_fields(message, "StringStringEntryProto",
              {{1, [&](pbf_reader& of) { entry.first = of.get_string(); }},
               {2, [&](pbf_reader& of) { entry.second = of.get_string(); }}});
  return entry;
}

std::pair<std::string, ParsedAttribute> attribute_of(pbf_reader message) {
  std::string name;
  ParsedAttribute attribute;
  read_fields(message, "AttributeProto",
              {{1, [&](pbf_reader& of) { name = of.get_string(); }},
               {2, [&](pbf_reader& of) { attribute.f = of.get_float(); }},
               {3, [&](pbf_reader& of) { attribute.i = of.get_int64(); }},
               {4, [&](pbf_reader& of) { attribute.s = of.get_bytes(); }},
               {8, [&](pbf_reader& of) { attribute.ints.push_back(of.get_int64()); }},
               {20, [&](pbf_reader& of) { attribute.type = of.get_enum(); }}});
  return {name, attribute};
}

ParsedNode node_of(pbf_reader message) {
  ParsedNode node;
  read_fields(
      message, "NodeProto",
      {{1, [&](pbf_reader& of) { node.inputs.push_back(of.get_string()); }},
       {2, [&](pbf_reader& of) { node.outputs.push_back(of.get_string()); }},
       {3, [&](pbf_reader& of) { node.name = of.get_string(); }},
       {4, [&](pbf_reader& of) { node.op = of.get_string(); }},
       {5, [&](pbf_reader& of) { node.attributes.insert(attribute_of(of.get_message())); }}});
  return node;
}

ParsedInitializer initializer_of(pbf_reader message) {
  ParsedInitializer tensor;
  bool elsewhere = false;
  read_fields(message, "TensorProto",
              {{1, [&](pbf_reader& of) { tensor.dims.push_back(of.get_int64()); }},
               {2, [&](pbf_reader& of) { tensor.type = of.get_int32(); }},
               {8, [&](pbf_reader& of) { tensor.name = of.get_string(); }},
               {9, [&](pbf_reader& of) { tensor.bytes = of.get_bytes(); }},
               {13, [&](pbf_reader& of) { tensor.external.insert(entry_of(of.get_message())); }},
               {14, [&](pbf_reader& of) { elsewhere = of.get_enum() == 1; }}});
  if (elsewhere == tensor.external.empty()) throw std::runtime_error("half external data");
  return tensor;
}

std::string dim_of(pbf_reader reader) {
  reader.next();
  return reader.tag() == 1 ? std::to_string(reader.get_int64()) : reader.get_string();
}

// ValueInfoProto -> TypeProto -> TypeProto.Tensor -> TensorShapeProto
ParsedTensor tensor_of(pbf_reader reader) {
  ParsedTensor tensor;
  reader.next(1);
  tensor.name = reader.get_string();
  reader.next(2);
  pbf_reader type = reader.get_message();
  type.next(1);
  pbf_reader of_tensor = type.get_message();
  of_tensor.next(1);
  tensor.type = of_tensor.get_int32();
  of_tensor.next(2);
  pbf_reader shape = of_tensor.get_message();
  while (shape.next(1)) tensor.dims.push_back(dim_of(shape.get_message()));
  return tensor;
}

void read_graph(pbf_reader message, ParsedOnnx& model) {
  read_fields(
      message, "GraphProto",
      {{1, [&](pbf_reader& of) { model.nodes.push_back(node_of(of.get_message())); }},
       {2, [&](pbf_reader& of) { model.graph_name = of.get_string(); }},
       {5, [&](pbf_reader& of) { model.initializers.push_back(initializer_of(of.get_message())); }},
       {11, [&](pbf_reader& of) { model.inputs.push_back(tensor_of(of.get_message())); }},
       {12, [&](pbf_reader& of) { model.outputs.push_back(tensor_of(of.get_message())); }}});
}

}  // namespace

const ParsedInitializer* ParsedOnnx::find(const std::string& name) const {
  for (const ParsedInitializer& tensor : initializers)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

ParsedOnnx parse_onnx(const std::filesystem::path& path) {
  ParsedOnnx model;
  std::string bytes = content_of(path);
  read_fields(pbf_reader(bytes), "ModelProto",
              {{1, [&](pbf_reader& of) { model.ir_version = of.get_int64(); }},
               {2, [&](pbf_reader& of) { model.producer = of.get_string(); }},
               {3, [&](pbf_reader& of) { model.version = of.get_string(); }},
               {6, [&](pbf_reader& of) { model.doc = of.get_string(); }},
               {7, [&](pbf_reader& of) { read_graph(of.get_message(), model); }},
               {8,
                [&](pbf_reader& of) {
                  pbf_reader opset = of.get_message();
                  opset.next(2);
                  model.opset = opset.get_int64();
                }},
               {14, [&](pbf_reader& of) { model.metadata.insert(entry_of(of.get_message())); }}});
  for (ParsedInitializer& tensor : model.initializers) {
    if (tensor.external.empty()) continue;
    std::string file = content_of(path.parent_path() / tensor.external.at("location"));
    tensor.bytes = file.substr(std::stoull(tensor.external.at("offset")),
                               std::stoull(tensor.external.at("length")));
  }
  return model;
}

}  // namespace spire
