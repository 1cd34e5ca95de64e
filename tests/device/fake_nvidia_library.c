// In the place of one of NVIDIA's libraries.
int fake_version(void) {
  return 42;
}
