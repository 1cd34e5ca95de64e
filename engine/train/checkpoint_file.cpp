#include <spire/base/atomic_file.h>
#include <spire/train/checkpoint_file.h>
#include <spire/train/checkpoint_image.h>

#include <array>

namespace spire {

void write_checkpoint(const std::filesystem::path& path, const TrainingState& state) {
  CheckpointImage image = encode_checkpoint(state);
  std::array<std::string_view, 2> parts = {image.header, image.hdf5};
  write_file_atomically(path, parts, Category::checkpoint);
}

TrainingState read_checkpoint(const std::filesystem::path& path) {
  try {
    verify_header(path);
    return decode_checkpoint(path);
  } catch (const std::exception& error) {
    Category category = classify(error).category();
    bool environment = category == Category::device || category == Category::out_of_memory;
    fail(environment ? category : Category::checkpoint, "checkpoint {}: {}", path.string(),
         error.what());
  }
}

}  // namespace spire
