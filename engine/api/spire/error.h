// Exception type of the library. A message says what is wrong, where, and what to do about it.
#pragma once
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include <spire/export.h>

namespace spire {

// Kinds of failure. The values are the trainer's exit codes.
enum class Category {
  unexpected = 1,     // a broken invariant, or a wrong use of the API
  config = 2,         // usage or configuration
  device = 3,         // device or system
  data = 4,           // dataset files
  checkpoint = 5,     // checkpoint files
  out_of_memory = 6,  // memory of a device or of the host
  diverged = 7,       // the loss or the gradients are not finite
  collective = 8,     // a rank or GPU was lost or timed out: a restart may succeed
  interrupted = 75,   // stopped by the user or max_time; a run has saved a checkpoint
};

SPIRE_API std::string_view to_string(Category category);

// Comments write Error(config) for an Error with Category::config.
class SPIRE_API Error : public std::runtime_error {
 public:
  Error(Category category, const std::string& message)
      : std::runtime_error(message), category_(category) {}
  Category category() const { return category_; }
  int exit_code() const { return static_cast<int>(category_); }

 private:
  Category category_;
};

// Converts any exception to an Error: an Error stays as it is, bad_alloc becomes out_of_memory,
// system_error becomes device, anything else becomes unexpected.
SPIRE_API Error classify(const std::exception& error);

}  // namespace spire
