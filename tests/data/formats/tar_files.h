// Tar archives made in memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace spire {

using Bytes = std::vector<uint8_t>;

inline void put_field(std::string_view text, size_t at, Bytes& header) {
  std::copy(text.begin(), text.end(), header.begin() + static_cast<std::ptrdiff_t>(at));
}

inline void put_checksum(Bytes& header) {
  put_field("        ", 148, header);
  unsigned sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += header[i];
  put_field(fmt::format("{:06o}", sum) + '\0', 148, header);
}

// A member: its header, and its content padded to blocks of 512 bytes.
inline Bytes tar_member(const std::string& name, const Bytes& content, char type = '0',
                        const std::string& prefix = "") {
  Bytes member(512);
  put_field(name, 0, member);
  put_field(fmt::format("{:011o}", content.size()), 124, member);
  member[156] = static_cast<uint8_t>(type);
  put_field(std::string_view("ustar\00000", 8), 257, member);
  put_field(prefix, 345, member);
  put_checksum(member);
  member.insert(member.end(), content.begin(), content.end());
  member.resize((member.size() + 511) / 512 * 512);
  return member;
}

inline Bytes tar_text(const std::string& name, const std::string& text, char type = '0') {
  return tar_member(name, Bytes(text.begin(), text.end()), type);
}

// A record of a pax header: its own length, key and value.
inline std::string pax_record(const std::string& key, const std::string& value) {
  size_t length = key.size() + value.size() + 3;
  while (length != key.size() + value.size() + 3 + std::to_string(length).size())
    length = key.size() + value.size() + 3 + std::to_string(length).size();
  return fmt::format("{} {}={}\n", length, key, value);
}

inline Bytes tar_of(const std::vector<Bytes>& members) {
  Bytes archive;
  for (const Bytes& member : members) archive.insert(archive.end(), member.begin(), member.end());
  archive.resize(archive.size() + 1024);
  return archive;
}

}  // namespace spire
