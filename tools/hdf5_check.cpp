// spire-hdf5-check: reads an HDF5 file before a run does. Damage on which libhdf5 crashes or hangs
// ends this program and not the run.
#include "engine/data/formats/hdf5_check.h"

#include "engine/base/hdf5.h"

int main(int argc, char** argv) {
  spire::h5::leave_open_at_exit();
  spire::hdf5_check_main(argc, argv);
}
