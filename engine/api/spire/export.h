// Marks what the shared library exports; all else in it is hidden.
//
// It stands before functions that a public header declares and a source file defines, and before
// the name of a class that has such a member, a virtual function, or that is thrown:
//   SPIRE_API Error classify(const std::exception& error);
//   class SPIRE_API World { ... };
// Plain structs, enums, templates and inline functions need no mark.
#pragma once

#define SPIRE_API __attribute__((visibility("default")))
