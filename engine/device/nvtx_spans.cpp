// Spans as NVTX ranges. NVTX 3 is a header of the CUDA Toolkit: it opens a profiler's library where
// the environment names one, and otherwise does nothing.
#include <nvtx3/nvToolsExt.h>

#include "engine/device/spans.h"

namespace spire {
namespace {

class NvtxSpans : public SpanSink {
 public:
  NvtxSpans() : domain_(nvtxDomainCreateA("Spire")) {}
  ~NvtxSpans() override { nvtxDomainDestroy(domain_); }
  NvtxSpans(const NvtxSpans&) = delete;
  NvtxSpans& operator=(const NvtxSpans&) = delete;

  void begin(const SpanName& name) override {
    nvtxEventAttributes_t range = {};
    range.version = NVTX_VERSION;
    range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    range.messageType = NVTX_MESSAGE_TYPE_ASCII;
    range.message.ascii = name.text;
    range.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    range.payload.llValue = name.number;
    nvtxDomainRangePushEx(domain_, &range);
  }
  void end() override { nvtxDomainRangePop(domain_); }

 private:
  nvtxDomainHandle_t domain_;  // null without a profiler
};

}  // namespace

std::unique_ptr<SpanSink> make_profiler_spans(DeviceId device) {
  if (device.kind != DeviceKind::cuda) return {};
  return std::make_unique<NvtxSpans>();
}

}  // namespace spire
