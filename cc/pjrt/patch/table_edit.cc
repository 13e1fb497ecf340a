#include "cc/pjrt/patch/table_edit.h"

#include <string>

namespace gmlake {

Status TableEdit::Undo() {
  int left = 0;
  for (; !steps_.empty(); steps_.pop_back()) {
    if (!steps_.back()()) ++left;
  }
  if (left == 0) return OkStatus();
  return Status(StatusCode::kFailedPrecondition, "others have replaced " + std::to_string(left) +
                                                     " of our entries of the CUDA plugin's table, which stay");
}

}  // namespace gmlake
