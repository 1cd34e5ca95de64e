/* Functions that write nothing, whatever they are called with. In C, which lets them be called so. */
#define SUCCEEDS(name) \
  int name(void) { return 0; }
SUCCEEDS(cuCtxPushCurrent)
SUCCEEDS(cuCtxGetLimit)
SUCCEEDS(cuKernelSetAttribute)
SUCCEEDS(cuLaunchCooperativeKernel)
SUCCEEDS(cuLaunchKernel)
SUCCEEDS(cuLaunchKernelEx)
SUCCEEDS(cuLibraryLoadFromFile)
SUCCEEDS(cuLibraryUnload)
SUCCEEDS(cuLinkAddData)
SUCCEEDS(cuLinkComplete)
SUCCEEDS(cuLinkCreate)
SUCCEEDS(cuLinkDestroy)
