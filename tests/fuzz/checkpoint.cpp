// Checkpoints, whole files. The header's checksum guards the header itself, so that hardly any
// damage gets past its first test: the header is read a second time with that checksum mended.
#include "engine/base/hash.h"
#include "engine/checkpoint/checkpoint_file.h"
#include "engine/checkpoint/checkpoint_header.h"
#include "tests/checkpoint/checkpoint_fixture.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

namespace spire::fuzz {
namespace {

// The 16 hex digits behind the last "check " made those of the text before.
void mend_check(std::string& file) {
  constexpr std::string_view line = "\ncheck ";
  size_t at = file.rfind(line, 1 << 16);
  if (at == file.npos) return;
  std::string digits = hex(hash64(file.data(), at + 1));
  size_t place = at + line.size();
  if (file.size() - place >= digits.size()) file.replace(place, digits.size(), digits);
}

}  // namespace

int consume(const uint8_t* data, size_t size) {
  MemoryFile file(data, size);
  int verdict = parse_or_refuse(Category::checkpoint, [&] { read_checkpoint(file.path()); });
  std::string mended(data, data + size);
  mend_check(mended);
  MemoryFile other(reinterpret_cast<const uint8_t*>(mended.data()), mended.size());
  parse_or_refuse(Category::checkpoint, [&] { verify_header(CheckpointBytes(other.path())); });
  return verdict;
}

std::vector<Bytes> seeds() {
  TrainingState small;
  small.weights = {random_tensor("w", {3}, 1)};
  small.parameter_hash = "0123456789abcdef";
  std::vector<Bytes> seeds;
  for (const TrainingState& state : {small, sample_state()}) {
    MemoryFile file(nullptr, 0);
    write_checkpoint(file.path(), state);
    seeds.push_back(bytes_of(content_of(file.path())));
  }
  return seeds;
}

}  // namespace spire::fuzz
