// Makes one page writable for a moment. The dynamic linker may have made a library's GOT read-only after relocation
// (RELRO); the page is read-only again afterwards.
#ifndef GMLAKE_PJRT_PATCH_PAGE_PROTECTION_H_
#define GMLAKE_PJRT_PATCH_PAGE_PROTECTION_H_

#include "cc/base/status.h"

namespace gmlake {

// The protection (PROT_READ | ...) of the page around `address`, as the kernel reports it; -1 if nothing is mapped
// there.
int ProtectionOf(const void* address);

// Model: while this lives, the page around one address can be written; afterwards it has its former protection. A page
// that was writable is left alone. Cost: reads /proc/self/maps, so not for hot paths.
class WritablePage {
 public:
  static StatusOr<WritablePage> Open(void* address);
  WritablePage(WritablePage&& other) noexcept;
  WritablePage& operator=(WritablePage&&) = delete;
  ~WritablePage();

 private:
  WritablePage(void* page, int former) : page_(page), former_(former) {}

  void* page_;  // null: nothing to restore
  int former_;
};

// `*place` is `value` from now on, for all threads at once, whatever protects its page.
template <typename T>
Status Overwrite(T* place, T value) {
  GMLAKE_ASSIGN_OR_RETURN(const WritablePage page, WritablePage::Open(place));
  __atomic_store_n(place, value, __ATOMIC_RELEASE);
  return OkStatus();
}

}  // namespace gmlake

#endif  // GMLAKE_PJRT_PATCH_PAGE_PROTECTION_H_
