// spire-hdf5-check: reads an HDF5 file before a run does. Damage on which libhdf5 crashes or hangs
// ends this program and not the run. A file alone is a checkpoint.
#include <cstdio>

#include "engine/base/hdf5.h"
#include "engine/checkpoint/checkpoint_hdf5.h"
#include "engine/data/formats/hdf5_file.h"

// 127, as a shell has it: the program cannot do its work at all.
int main(int argc, char** argv) try {
  spire::h5::leave_open_at_exit();
  if (argc == 2) spire::checkpoint_check_main(argv[1]);
  spire::hdf5_check_main(argc, argv);
} catch (const spire::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 127;
}
