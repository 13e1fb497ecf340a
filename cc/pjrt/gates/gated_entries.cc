#include "cc/pjrt/gates/gated_entries.h"

#include <string>

#include "cc/pjrt/plugin/error_maker.h"

namespace gmlake {

GatedEntries* gated = nullptr;

PJRT_Error* Refusal(const Devices& devices) {
  for (int ordinal : gated->plugin->OrdinalsOf(devices)) {
    if (gated->gate.is_closed(ordinal)) return RefusalOf(ordinal);
  }
  return nullptr;
}

PJRT_Error* RefusalOf(int ordinal) {
  return MakeError(*gated->plugin, gated->texts,
                   "[gmlake_jax] device " + std::to_string(ordinal) +
                       " is asleep, its memory is given away; call gmlake_jax.wake() before using its arrays");
}

}  // namespace gmlake
