// A program that uses HDF5 itself: its code refers to variables of the library, which then lie in
// the program and not in the library. Spire saves and loads a state all the same.
#include <hdf5.h>

#include "one_step.h"

int main() try {
  if (H5Tget_size(H5T_NATIVE_INT) != sizeof(int) || H5Tget_size(H5T_IEEE_F32LE) != 4) return 2;
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  spire::Trainer trainer = trainer_of_one_step();
  std::vector<std::byte> state = trainer.save();
  spire::Trainer other = trainer_of_one_step();
  other.load(state);
  H5Pclose(access);
  return other.parameter_hash() == trainer.parameter_hash() ? 0 : 3;
} catch (const std::exception& error) {
  std::printf("%s\n", error.what());
  return 1;
}
