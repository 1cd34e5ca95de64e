#pragma once
#include "tests/base/folder.h"

namespace spire {

// Files below a folder that stands for "/".
class SystemFiles : public Folder {
 public:
  SystemFiles& file(const std::string& path, const std::string& text) {
    write(path, text);
    return *this;
  }
  const std::filesystem::path& root() const { return path(); }
};

}  // namespace spire
