#include <cstdint>
#include <cstring>
#include <string_view>

#include <elf.h>
#include <fmt/format.h>
#include <tests/described_gpu/float_atomics.h>

namespace spire::testing {
namespace {

constexpr size_t instruction_bytes = 16;

// Encodings as nvdisasm names them. Bits 9 to 11 of an instruction are the form of its address,
// bits 73 to 75 the type of RED, ATOM and ATOMG: 3 is F32, 4 F16x2, 6 F64.
bool adds_floats(const unsigned char* instruction) {
  uint64_t low, high;
  std::memcpy(&low, instruction, 8);
  std::memcpy(&high, instruction + 8, 8);
  uint64_t type = high >> 9 & 7;
  switch (low & 0x1ff) {
    case 0x18a:  // ATOM
    case 0x18e:  // RED
    case 0x1a8:  // ATOMG
      return type == 3 || type == 4 || type == 6;
    case 0x1a2:  // ATOM,
    case 0x1a3:  // ATOMG
    case 0x1a6:  // and REDG of floats since 9.0
    case 0x1bb:  // UBLKRED: blocks of memory
    case 0x1b6:  // UTMAREDG: of tensors
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string float_atomics(const void* cubin) {
  auto* bytes = static_cast<const unsigned char*>(cubin);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  auto section = [&](size_t index) {
    Elf64_Shdr read;
    std::memcpy(&read, bytes + header.e_shoff + index * header.e_shentsize, sizeof read);
    return read;
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (size_t s = 0; s < header.e_shnum; ++s) {
    Elf64_Shdr code = section(s);
    std::string_view name = reinterpret_cast<const char*>(bytes + names.sh_offset + code.sh_name);
    if (!name.starts_with(".text.")) continue;
    size_t count = 0, first = 0;
    for (size_t at = 0; at + instruction_bytes <= code.sh_size; at += instruction_bytes) {
      if (adds_floats(bytes + code.sh_offset + at) && count++ == 0) first = at;
    }
    if (count > 0) return fmt::format("{}: {} at {:#x}", name.substr(6), count, first);
  }
  return "";
}

}  // namespace spire::testing
