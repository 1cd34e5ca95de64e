// spire-hdf5-check: reads an HDF5 file before a run does, so that damage on which libhdf5 crashes
// or hangs ends this program and not the run.
#include <spire/data/hdf5_check.h>

int main(int argc, char** argv) {
  spire::run_hdf5_check(argc, argv);
}
