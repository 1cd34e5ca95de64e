// An ONNX file as its bytes say, read by field numbers of onnx.proto alone.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace spire {

struct ParsedAttribute {
  int64_t type = 0, i = 0;
  float f = 0;
  std::string s;
  std::vector<int64_t> ints;
};

struct ParsedNode {
  std::string op, name;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, ParsedAttribute> attributes;

  const ParsedAttribute& at(const std::string& key) const { return attributes.at(key); }
  std::vector<int64_t> ints(const std::string& key) const { return at(key).ints; }
};

struct ParsedInitializer {
  std::string name, bytes;  // bytes: also where they lie in a second file
  int64_t type = 0;
  std::vector<int64_t> dims;
  std::map<std::string, std::string> external;  // location, offset, length; empty: inside
};

struct ParsedTensor {
  std::string name;
  int64_t type = 0;
  std::vector<std::string> dims;  // numbers, or the name of an open one
};

struct ParsedOnnx {
  int64_t ir_version = 0, opset = 0;
  std::string producer, version, doc, graph_name;
  std::map<std::string, std::string> metadata;
  std::vector<ParsedNode> nodes;
  std::vector<ParsedInitializer> initializers;
  std::vector<ParsedTensor> inputs, outputs;

  const ParsedInitializer* find(const std::string& name) const;  // null if there is none
};

// Throws what protozero throws for bytes that are no message, and for an unknown field.
ParsedOnnx parse_onnx(const std::filesystem::path& path);

}  // namespace spire
