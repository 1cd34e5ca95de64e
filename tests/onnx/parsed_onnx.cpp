#include "tests/onnx/parsed_onnx.h"

#include <fstream>
#include <stdexcept>

#include <protozero/pbf_reader.hpp>

namespace spire {
namespace {

using protozero::pbf_reader;

[[noreturn]] void refuse(const char* message, const pbf_reader& reader) {
  throw std::runtime_error(std::string(message) + " has field " + std::to_string(reader.tag()));
}

std::pair<std::string, std::string> entry_of(pbf_reader reader) {
  std::pair<std::string, std::string> entry;
  while (reader.next()) {
    if (reader.tag() == 1) {
      entry.first = reader.get_string();
    } else if (reader.tag() == 2) {
      entry.second = reader.get_string();
    } else {
      refuse("StringStringEntryProto", reader);
    }
  }
  return entry;
}

std::pair<std::string, ParsedAttribute> attribute_of(pbf_reader reader) {
  std::string name;
  ParsedAttribute attribute;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        name = reader.get_string();
        break;
      case 2:
        attribute.f = reader.get_float();
        break;
      case 3:
        attribute.i = reader.get_int64();
        break;
      case 4:
        attribute.s = reader.get_bytes();
        break;
      case 8:
        attribute.ints.push_back(reader.get_int64());
        break;
      case 20:
        attribute.type = reader.get_enum();
        break;
      default:
        refuse("AttributeProto", reader);
    }
  }
  return {name, attribute};
}

ParsedNode node_of(pbf_reader reader) {
  ParsedNode node;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        node.inputs.push_back(reader.get_string());
        break;
      case 2:
        node.outputs.push_back(reader.get_string());
        break;
      case 3:
        node.name = reader.get_string();
        break;
      case 4:
        node.op = reader.get_string();
        break;
      case 5:
        node.attributes.insert(attribute_of(reader.get_message()));
        break;
      default:
        refuse("NodeProto", reader);
    }
  }
  return node;
}

ParsedInitializer initializer_of(pbf_reader reader) {
  ParsedInitializer tensor;
  bool elsewhere = false;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        tensor.dims.push_back(reader.get_int64());
        break;
      case 2:
        tensor.type = reader.get_int32();
        break;
      case 8:
        tensor.name = reader.get_string();
        break;
      case 9:
        tensor.bytes = reader.get_bytes();
        break;
      case 13:
        tensor.external.insert(entry_of(reader.get_message()));
        break;
      case 14:
        elsewhere = reader.get_enum() == 1;
        break;
      default:
        refuse("TensorProto", reader);
    }
  }
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

void read_graph(pbf_reader reader, ParsedOnnx& model) {
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        model.nodes.push_back(node_of(reader.get_message()));
        break;
      case 2:
        model.graph_name = reader.get_string();
        break;
      case 5:
        model.initializers.push_back(initializer_of(reader.get_message()));
        break;
      case 11:
        model.inputs.push_back(tensor_of(reader.get_message()));
        break;
      case 12:
        model.outputs.push_back(tensor_of(reader.get_message()));
        break;
      default:
        refuse("GraphProto", reader);
    }
  }
}

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

const ParsedInitializer* ParsedOnnx::find(const std::string& name) const {
  for (const ParsedInitializer& tensor : initializers)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

ParsedOnnx parse_onnx(const std::filesystem::path& path) {
  ParsedOnnx model;
  std::string bytes = bytes_of_file(path);
  pbf_reader reader(bytes);
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        model.ir_version = reader.get_int64();
        break;
      case 2:
        model.producer = reader.get_string();
        break;
      case 3:
        model.version = reader.get_string();
        break;
      case 6:
        model.doc = reader.get_string();
        break;
      case 7:
        read_graph(reader.get_message(), model);
        break;
      case 8: {
        pbf_reader opset = reader.get_message();
        opset.next(2);
        model.opset = opset.get_int64();
        break;
      }
      case 14:
        model.metadata.insert(entry_of(reader.get_message()));
        break;
      default:
        refuse("ModelProto", reader);
    }
  }
  for (ParsedInitializer& tensor : model.initializers) {
    if (tensor.external.empty()) continue;
    std::string file = bytes_of_file(path.parent_path() / tensor.external.at("location"));
    tensor.bytes = file.substr(std::stoull(tensor.external.at("offset")),
                               std::stoull(tensor.external.at("length")));
  }
  return model;
}

}  // namespace spire
