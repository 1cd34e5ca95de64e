// Marks what the shared library exports; all else in it is hidden.
//
// Put it before a function that a public header declares and a source file defines, and before the
// name of a class that has such a member function or a virtual one, or that is thrown:
//   SPIRE_API Error classify(const std::exception& error);
//   class SPIRE_API World { ... };
// Plain structs, enums, templates and inline functions need no mark.
#pragma once

#define SPIRE_API __attribute__((visibility("default")))
