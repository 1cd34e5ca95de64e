// Another library with oneDNN's functions, as libtorch has them inside: each of them fails.
#define SPIRE_OPENED_FUNCTION(library, function) \
  extern "C" int function() {                    \
    return 5;                                    \
  }
#include "onednn_functions.h"
