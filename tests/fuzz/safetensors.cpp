// Safetensors, whole files: what is accepted can be read to its last number.
#include "engine/weights/files/safetensors_header.h"
#include "engine/weights/files/safetensors_reader.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

namespace spire::fuzz {
namespace {

// Header of the file with a length of its own in front, so that a fuzzer need not find that.
std::string with_length(std::string_view bytes) {
  size_t end = bytes.rfind('}');
  size_t header = end == bytes.npos ? 0 : end + 1;
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header >> (8 * i));
  return length.append(bytes);
}

void read_everything(const SafetensorsReader& file) {
  auto tensors = file.groups()[0].tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    // More elements than bytes has only a type that is not known, and not read.
    int64_t elements = std::min<int64_t>(tensors[i].shape.elements(), 1 << 20);
    std::vector<float> values(static_cast<size_t>(elements));
    parse_or_refuse(Category::checkpoint, [&] { file.read(0, i, 0, values); });
  }
}

}  // namespace

int consume(const uint8_t* data, size_t size) {
  std::string mended = with_length({reinterpret_cast<const char*>(data) + std::min<size_t>(size, 8),
                                    size - std::min<size_t>(size, 8)});
  MemoryFile other(reinterpret_cast<const uint8_t*>(mended.data()), mended.size());
  parse_or_refuse(Category::checkpoint, [&] { read_everything(SafetensorsReader(other.path())); });
  MemoryFile file(data, size);
  return parse_or_refuse(Category::checkpoint,
                         [&] { read_everything(SafetensorsReader(file.path())); });
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> seeds;
  for (const char* dtype : {"F32", "F64", "BF16", "I64"}) {
    uint64_t bytes = std::string_view(dtype).ends_with("64") ? 48 : *dtype == 'F' ? 24 : 12;
    std::string file = safetensors_header(
        {{"a.weight", dtype, {2, 3}, 0, bytes}, {"none", "U8", {0}, bytes, bytes}},
        {{"format", "pt"}});
    seeds.push_back(bytes_of(file + std::string(bytes, 'x')));
  }
  seeds.push_back(bytes_of(safetensors_header({}, {})));
  return seeds;
}

}  // namespace spire::fuzz
