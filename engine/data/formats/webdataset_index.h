// Index of tar shards as WebDataset writes them: neighbouring members with the same name up to the
// first dot, the key, are one sample. Its image is key.jpg (or another image); its class is the
// whole number in key.cls, or the member label or cls of the JSON object in key.json. Both must
// agree.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/read_file.h"
#include "engine/data/input_file.h"

namespace spire {

// Reader of the places of files in a tar archive: ustar and pax (POSIX.1-2001), and GNU's long
// names and large sizes. Not of compressed archives, whose files have no place of their own.

struct TarMember {
  std::string name;                // path within the archive
  uint64_t offset = 0, bytes = 0;  // of its content, within the archive
};

// Calls use(member) for each regular file in the archive, in their order; links and folders are
// left out. Archives that were joined are read one after another, as by GNU tar's -i. Throws
// Error(data), naming archive and byte, for a damaged, truncated or compressed archive.
void for_each_member(const RegularFile& archive, const std::function<void(TarMember)>& use);

struct ShardImage {
  std::string key;
  int32_t shard = 0, label = 0;
  uint64_t offset = 0, bytes = 0;  // within the shard
};

struct ShardIndex {
  std::vector<std::filesystem::path> shards;
  std::vector<FileStamp> stamps = {};   // of the shards when they were read
  std::vector<ShardImage> images = {};  // in the order of shards, and of their members
  int64_t ignored = 0;                  // other members
  std::string first_ignored = {};
};

// Reads the headers and the labels of all shards. Throws Error(data), naming shard and member, for
// a damaged archive, an image without a label, labels that disagree, or if there is no image.
ShardIndex index_shards(const std::vector<std::filesystem::path>& shards);

// Returns the texts that a pattern stands for: a{08..11}b is a08b, a09b, a10b, a11b. Text without
// braces stands for itself. Throws Error(config) for other braces, or more than a million texts.
std::vector<std::string> expand_braces(const std::string& pattern);

}  // namespace spire
