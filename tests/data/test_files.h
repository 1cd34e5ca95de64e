// IDX and gzip files, and datasets of them, for the tests of the data floor.
#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include <spire/error.h>

#include "engine/data/dataset.h"
#include "tests/base/folder.h"
#include "tests/base/message_of.h"

namespace spire {

using Bytes = std::vector<uint8_t>;

// Of tests that write files.
class FolderTest : public testing::Test {
 protected:
  Folder folder_;
};

// Makes the file's folder, too.
inline void write_file(const std::filesystem::path& path, const Bytes& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file.good()) << path;
}

inline Bytes file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// An IDX file: magic, dimensions, body.
inline Bytes idx_bytes(uint32_t magic, const std::vector<uint32_t>& dims, const Bytes& body) {
  Bytes bytes;
  auto append = [&](uint32_t v) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(v >> shift));
  };
  append(magic);
  for (uint32_t dim : dims) append(dim);
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

constexpr int zlib_format = 15, gzip_format = 15 + 16;  // windowBits of zlib's deflateInit2()

// Returns `count` equal bytes, deflated in small memory.
inline Bytes packed(size_t count, uint8_t byte, int format) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 1, Z_DEFLATED, format, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes part(1 << 20, byte), out(count / 100 + 4096);
  z.next_out = out.data();
  z.avail_out = static_cast<uInt>(out.size());
  for (size_t done = 0; done < count; done += part.size()) {
    z.next_in = part.data();
    z.avail_in = static_cast<uInt>(part.size());
    deflate(&z, done + part.size() < count ? Z_NO_FLUSH : Z_FINISH);
  }
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

inline Bytes gzip(const Bytes& content) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 6, Z_DEFLATED, gzip_format, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes out(deflateBound(&z, content.size()) + 32);
  z.next_in = const_cast<Bytef*>(content.data());
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = out.data();
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

// The config of a dataset, with its other defaults.
inline DataConfig data_at(const std::string& name, const std::filesystem::path& path) {
  DataConfig config;
  config.name = name;
  config.path = path.string();
  return config;
}

inline DatasetPair open(const std::string& name, const std::filesystem::path& path) {
  return open_dataset(data_at(name, path), {});
}

// Returns the message of the Error for which the dataset is not opened.
inline std::string open_refusal(const DataConfig& config, Category category = Category::data) {
  return message_of(category, [&] { open_dataset(config, {}); });
}

// Rows of one column of `samples`, in that order.
template <typename T>
std::vector<T> read_column(const Dataset& dataset, size_t column,
                           const std::vector<int64_t>& samples, int64_t epoch = 0) {
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> columns;
  for (const Column& each : dataset.spec().columns)
    columns.push_back(memory.emplace_back(samples.size() * each.row_bytes()).data());
  dataset.read(samples, epoch, columns);
  auto* values = reinterpret_cast<const T*>(columns[column]);
  return {values, values + memory[column].size() / sizeof(T)};
}

// Rows of one column of all samples.
template <typename T>
std::vector<T> read_all(const Dataset& dataset, size_t column, int64_t epoch = 0) {
  return read_column<T>(dataset, column, sequence(0, dataset.count()), epoch);
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  write_file(path, Bytes(text.begin(), text.end()));
}

// 0, 7, 14, ... modulo `modulus`.
inline Bytes pattern(size_t count, uint32_t modulus = 256) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * 7 % modulus);
  return bytes;
}

}  // namespace spire
