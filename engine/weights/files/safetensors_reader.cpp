#include "engine/weights/files/safetensors_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include <spire/tensor.h>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/weights/files/safetensors_header.h"

namespace spire {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "files hold numbers as memory does");

// One file.
class SafetensorsShard {
 public:
  explicit SafetensorsShard(const fs::path& path) : file_(path, Category::checkpoint) {
    try {
      open();
    } catch (const UnreadableFile&) {
      throw;  // its message names the file
    } catch (const Error& error) {
      fail(error.category(), "{}: {}", path.string(), error.what());
    }
  }

  const fs::path& path() const { return file_.path(); }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  void read(size_t index, int64_t begin, std::span<float> out) const {
    const StoredTensor& tensor = tensors_.at(index);
    require(begin >= 0 && begin + std::ssize(out) <= tensor.shape.elements(),
            "safetensors: {} has not so many values", tensor.name);
    auto first = static_cast<uint64_t>(begin);
    if (tensor.dtype == "F32") {
      read_bytes(tensor, first * 4, std::as_writable_bytes(out));
    } else if (tensor.dtype == "F16") {
      convert<float16>(tensor, first, out);
    } else if (tensor.dtype == "BF16") {
      convert<bfloat16>(tensor, first, out);
    } else if (tensor.dtype == "F64") {
      convert<double>(tensor, first, out);
    } else {
      fail(Category::checkpoint,
           "{}: '{}' is of type {}; weights are read from F32, F16, BF16 and F64, so convert it, "
           "or leave it out by init.skip",
           path().string(), printable(tensor.name), printable(tensor.dtype));
    }
  }

 private:
  void open() {
    std::array<unsigned char, 8> length;
    if (file_.bytes() < length.size())
      fail(Category::checkpoint, "it has {}, too few for safetensors; is it cut off?",
           counted(static_cast<int64_t>(file_.bytes()), "byte"));
    read_at(0, std::as_writable_bytes(std::span(length)));
    uint64_t header = 0;
    for (size_t i = 8; i-- > 0;) header = header << 8 | length[i];
    if (header > largest_safetensors_header)
      fail(Category::checkpoint,
           "it is no safetensors file: its first 8 bytes would be a header of {} bytes, and at "
           "most {} are allowed",
           header, largest_safetensors_header);
    data_ = length.size() + header;
    if (data_ > file_.bytes())
      fail(Category::checkpoint, "it ends within its header of {} bytes; is it cut off?", header);
    std::string text(header, '\0');
    read_at(length.size(), std::as_writable_bytes(std::span(text)));
    tensors_ = parse_safetensors_header(text, file_.bytes() - data_, &metadata_);
  }

  // The file may have become shorter since it was opened.
  void read_at(uint64_t offset, std::span<std::byte> out) const {
    if (file_.read_at(offset, out) != out.size())
      fail(Category::checkpoint, "it ends before byte {}; is it cut off?", offset + out.size());
  }

  void read_bytes(const StoredTensor& tensor, uint64_t at, std::span<std::byte> out) const {
    try {
      read_at(data_ + tensor.begin + at, out);
    } catch (const UnreadableFile&) {
      throw;  // its message names the file
    } catch (const Error& error) {
      fail(Category::checkpoint, "{}: '{}': {}", path().string(), printable(tensor.name),
           error.what());
    }
  }

  template <typename T>
  void convert(const StoredTensor& tensor, uint64_t first, std::span<float> out) const {
    std::array<T, 4096> piece;
    for (size_t done = 0; done < out.size();) {
      std::span<T> part = std::span(piece).first(std::min(piece.size(), out.size() - done));
      read_bytes(tensor, (first + done) * sizeof(T), std::as_writable_bytes(part));
      for (T value : part) out[done++] = static_cast<float>(value);
    }
  }

  RegularFile file_;
  uint64_t data_ = 0;  // where the tensors begin
  std::vector<StoredTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

namespace {

constexpr size_t largest_index = size_t{64} << 20;  // bytes
constexpr const char *usual_file = "model.safetensors",
                     *usual_index = "model.safetensors.index.json";

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Returns tensor -> file of an index. The files lie beside it, so that their names have no folders.
std::map<std::string, std::string> read_index(const fs::path& path) {
  std::map<std::string, std::string> files;
  try {
    auto index = nlohmann::json::parse(read_stream(path, Category::checkpoint, largest_index));
    for (const auto& [name, file] : index.at("weight_map").items())
      files[name] = file.get<std::string>();
  } catch (const nlohmann::json::exception& error) {
    fail(Category::checkpoint, "{}: it is no index of safetensors files: {}", path.string(),
         printable(error.what()));
  }
  for (const auto& [name, file] : files) {
    if (file.empty() || file == ".." || file.find('/') != file.npos || file.find('\0') != file.npos)
      fail(Category::checkpoint, "{}: '{}' is said to be in '{}', which is no name of a file",
           path.string(), printable(name), printable(file));
  }
  return files;
}

}  // namespace

SafetensorsReader::SafetensorsReader(const fs::path& path) : path_(path) {
  if (is_folder(path)) path_ /= is_there(path / usual_index) ? usual_index : usual_file;
  if (path_.extension() == ".json") {
    open_index(path_);
  } else {
    open_file(path_);
  }
  sort_tensors();
}

const std::map<std::string, std::string>& SafetensorsReader::metadata() const {
  static const std::map<std::string, std::string> none;
  return shards_.empty() ? none : shards_.front()->metadata();
}

SafetensorsReader::~SafetensorsReader() = default;

void SafetensorsReader::open_file(const fs::path& path) {
  shards_.push_back(std::make_unique<SafetensorsShard>(path));
}

// Index and files must name the same tensors: else one of them is of another model.
void SafetensorsReader::open_index(const fs::path& path) {
  std::map<std::string, std::string> file_of = read_index(path);
  std::set<std::string> files;
  for (const auto& [name, file] : file_of) files.insert(file);
  size_t found = 0;
  for (const std::string& file : files) {
    open_file(path.parent_path() / file);
    for (const StoredTensor& tensor : shards_.back()->tensors()) {
      auto place = file_of.find(tensor.name);
      if (place == file_of.end() || place->second != file)
        fail(Category::checkpoint, "{}: it does not say that '{}' is in {}", path.string(),
             printable(tensor.name), printable(file));
      ++found;
      file_of.erase(place);
    }
  }
  if (!file_of.empty())
    fail(Category::checkpoint, "{}: '{}' is not in {}, where it says it is", path.string(),
         printable(file_of.begin()->first), printable(file_of.begin()->second));
  require(found > 0 || files.empty(), "safetensors: files without tensors");
}

void SafetensorsReader::sort_tensors() {
  for (size_t shard = 0; shard < shards_.size(); ++shard)
    for (size_t i = 0; i < shards_[shard]->tensors().size(); ++i) places_.push_back({shard, i});
  auto tensor = [&](const Place& place) -> const StoredTensor& {
    return shards_[place.shard]->tensors()[place.tensor];
  };
  std::ranges::sort(
      places_, [&](const Place& a, const Place& b) { return tensor(a).name < tensor(b).name; });
  for (const Place& place : places_) tensors_.push_back({tensor(place).name, tensor(place).shape});
}

void SafetensorsReader::read(size_t, size_t tensor, int64_t begin, std::span<float> out) const {
  const Place& place = places_.at(tensor);
  shards_[place.shard]->read(place.tensor, begin, out);
}

bool is_safetensors(const fs::path& path) {
  if (is_folder(path))
    return !is_there(path / "checkpoints") &&
           (is_there(path / usual_file) || is_there(path / usual_index));
  return path.extension() == ".safetensors" || path.string().ends_with(".safetensors.index.json");
}

}  // namespace spire
