#include "engine/weights/files/safetensors_header.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/base/text.h"

namespace spire {
namespace {

using nlohmann::json;

constexpr const char* metadata_key = "__metadata__";
constexpr int deepest = 3;  // of lists and maps: header, tensor, shape
constexpr size_t longest_name = 1000;

// Bytes of an element; nothing for a type of which the size is not known here.
std::optional<uint64_t> size_of_type(std::string_view dtype) {
  static const std::map<std::string_view, uint64_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"I64", 8}, {"U64", 8},     {"F64", 8}};
  auto found = sizes.find(dtype);
  return found == sizes.end() ? std::nullopt : std::optional(found->second);
}

// Checks what nlohmann's parser lets pass: it takes the last of two equal keys, lists as deep as
// the text, and any number of tensors.
class HeaderLimits : public json::json_sax_t {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(json::number_integer_t) override { return true; }
  bool number_unsigned(json::number_unsigned_t) override { return true; }
  bool number_float(json::number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool start_object(size_t) override { return open(); }
  bool start_array(size_t) override { return open(); }
  bool end_object() override { return --depth_, true; }
  bool end_array() override { return --depth_, true; }
  // The parser that follows reports it.
  bool parse_error(size_t, const std::string&, const json::exception&) override { return false; }

  bool key(std::string& name) override {
    if (depth_ != 1) return true;
    if (name.size() > longest_name)
      fail(Category::checkpoint, "its header has a name of {} bytes; at most {} are supported",
           name.size(), longest_name);
    if (!names_.insert(name).second)
      fail(Category::checkpoint, "its header has '{}' twice", printable(name));
    if (names_.size() > most_safetensors)
      fail(Category::checkpoint, "its header has more than {} tensors, which no model has",
           most_safetensors);
    return true;
  }

 private:
  bool open() {
    if (depth_++ >= deepest)
      fail(Category::checkpoint, "its header has lists within lists where none belong");
    return true;
  }

  int depth_ = 0;
  std::unordered_set<std::string> names_;
};

// The parser with a callback would look through all tensors at the end of each.
json parse(std::string_view text) {
  HeaderLimits limits;
  json::sax_parse(text, &limits);
  try {
    return json::parse(text);
  } catch (const json::exception& error) {
    fail(Category::checkpoint, "its header is not JSON: {}", printable(error.what()));
  }
}

// Throws, with the name of the tensor, what `holds` demands.
void expect(bool holds, const std::string& name, std::string_view what) {
  if (!holds)
    fail(Category::checkpoint, "its header is damaged at '{}': {}", printable(name), what);
}

Shape shape_of(const std::string& name, const json& list) {
  expect(list.is_array(), name, "the shape is not a list");
  expect(list.size() <= static_cast<size_t>(Shape::max_rank), name,
         fmt::format("it has {} axes; at most {} are supported", list.size(), +Shape::max_rank));
  std::vector<int64_t> dims;
  constexpr uint64_t most = uint64_t{1} << 50;  // elements: their bytes fit into 64 bits
  uint64_t elements = 1;
  for (const json& extent : list) {
    expect(extent.is_number_unsigned(), name, "an extent is not a number >= 0");
    auto value = extent.get<uint64_t>();
    expect(value == 0 || elements <= most / value, name, "it has too many elements");
    elements *= std::max<uint64_t>(value, 1);
    dims.push_back(static_cast<int64_t>(value));
  }
  return Shape(dims);
}

StoredTensor read_tensor(const std::string& name, const json& entry, uint64_t data_bytes) {
  expect(entry.is_object() && entry.contains("dtype") && entry.contains("shape") &&
             entry.contains("data_offsets"),
         name, "it needs dtype, shape and data_offsets");
  expect(entry["dtype"].is_string(), name, "dtype is not a word");
  const json& offsets = entry["data_offsets"];
  expect(offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() &&
             offsets[1].is_number_unsigned(),
         name, "data_offsets is not a list of two numbers >= 0");
  StoredTensor tensor{name, entry["dtype"].get<std::string>(), shape_of(name, entry["shape"]),
                      offsets[0].get<uint64_t>(), offsets[1].get<uint64_t>()};
  expect(tensor.begin <= tensor.end, name, "it ends before it begins");
  expect(tensor.end <= data_bytes, name,
         fmt::format("it ends at byte {} behind the header, but the file has only {} there; is it "
                     "cut off?",
                     tensor.end, data_bytes));
  if (auto size = size_of_type(tensor.dtype)) {
    uint64_t bytes = *size * static_cast<uint64_t>(tensor.shape.elements());
    expect(bytes == tensor.end - tensor.begin, name,
           fmt::format("{} {} takes {} bytes, but it has {}", tensor.dtype, to_string(tensor.shape),
                       bytes, tensor.end - tensor.begin));
  }
  return tensor;
}

// Tensors lie one behind another and fill the file.
void check_order(const std::vector<StoredTensor>& tensors, uint64_t data_bytes) {
  uint64_t at = 0;
  for (const StoredTensor& tensor : tensors) {
    expect(tensor.begin >= at, tensor.name, "its bytes overlap with those of another tensor");
    expect(tensor.begin == at, tensor.name,
           fmt::format("the {} bytes before it belong to no tensor", tensor.begin - at));
    at = tensor.end;
  }
  if (at != data_bytes)
    fail(Category::checkpoint, "its last {} bytes belong to no tensor", data_bytes - at);
}

void check_metadata(const json& metadata) {
  bool words = metadata.is_object() &&
               std::ranges::all_of(metadata, [](const json& value) { return value.is_string(); });
  expect(words, metadata_key, "it is not a map of words");
}

}  // namespace

std::vector<StoredTensor> parse_safetensors_header(std::string_view text, uint64_t data_bytes,
                                                   std::map<std::string, std::string>* metadata) {
  if (text.empty() || text.front() != '{')
    fail(Category::checkpoint, "its header does not begin with '{{'");
  json header = parse(text);
  if (!header.is_object()) fail(Category::checkpoint, "its header is not a map of tensors");
  std::vector<StoredTensor> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == metadata_key) {
      check_metadata(entry);
      if (metadata != nullptr) entry.get_to(*metadata);
    } else {
      tensors.push_back(read_tensor(name, entry, data_bytes));
    }
  }
  std::ranges::sort(tensors, {},
                    [](const StoredTensor& t) { return std::tuple(t.begin, t.end, t.name); });
  check_order(tensors, data_bytes);
  return tensors;
}

std::string safetensors_header(const std::vector<StoredTensor>& tensors,
                               const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  header[metadata_key] = metadata;
  for (const StoredTensor& tensor : tensors) {
    auto dims = tensor.shape.dims();
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", std::vector<int64_t>(dims.begin(), dims.end())},
                           {"data_offsets", {tensor.begin, tensor.end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> (8 * i));
  return length + text;
}

}  // namespace spire
