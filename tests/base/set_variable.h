#pragma once
#include <cstdlib>
#include <optional>
#include <string>

namespace spire {

// Sets a variable of this process and of those that it starts, as long as the object lives. value:
// none removes it.
class SetVariable {
 public:
  SetVariable(std::string name, const std::optional<std::string>& value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
    set(value);
  }
  ~SetVariable() { set(before_); }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    value ? ::setenv(name_.c_str(), value->c_str(), 1) : ::unsetenv(name_.c_str());
  }

  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace spire
