// Tar shards as an index of samples, all of whose bytes are within the archive.
#include "engine/data/formats/webdataset_index.h"
#include "tests/data/formats/tar_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

namespace spire::fuzz {

int consume(const uint8_t* data, size_t size) {
  MemoryFile file(data, size);
  return parse_or_refuse(Category::data, [&] {
    for (const ShardImage& image : index_shards({file.path()}).images)
      require(image.offset <= size && image.bytes <= size - image.offset && image.label >= 0,
              "an image at {} of {} bytes", image.offset, image.bytes);
  });
}

std::vector<Bytes> seeds() {
  Bytes image(700, 0x5a);
  return {tar_of({tar_member("a.jpg", image), tar_text("a.cls", "3")}),
          tar_of({tar_member("b.png", image, '0', "folder"),
                  tar_member("b.json", {'{', '}'}, '0', "folder"),
                  tar_member("b.cls", {'1'}, '0', "folder")}),
          tar_of({tar_text("x", pax_record("path", "long/c.webp") + pax_record("size", "700"), 'x'),
                  tar_member("c", image), tar_text("L", "long/c.json", 'L'),
                  tar_text("d", R"({"label": 7})"), tar_text("d/", "", '5')})};
}

}  // namespace spire::fuzz
