// The program `trainer`.
#include <spire/trainer_main.h>

int main(int argc, char** argv) {
  return spire::trainer_main(argc, argv);
}
