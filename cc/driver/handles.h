// Owners of driver objects that live for one scope. Longer-lived objects (blocks, ranges) belong to the tables of
// cc/core, which must survive a driver that refuses to take them back; see transaction.h for the time in between.
#ifndef GMLAKE_DRIVER_HANDLES_H_
#define GMLAKE_DRIVER_HANDLES_H_

#include <utility>

#include "cc/driver/driver.h"

namespace gmlake {

// A recorded event, destroyed at the end of its scope. Invariant: holds null or an event that was really recorded.
// Not for use by two threads at once. Cost: one driver call to record, one to destroy.
class ScopedEvent {
 public:
  ScopedEvent() = default;
  ScopedEvent(Driver* driver, EventHandle event) : driver_(driver), event_(event) {}
  ScopedEvent(ScopedEvent&& other) noexcept { *this = std::move(other); }
  ScopedEvent& operator=(ScopedEvent&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~ScopedEvent() {
    if (event_.value != nullptr) driver_->DestroyEvent(event_);
  }

  static StatusOr<ScopedEvent> Record(Driver* driver, StreamHandle stream) {
    GMLAKE_ASSIGN_OR_RETURN(EventHandle event, driver->RecordEvent(stream));
    return ScopedEvent(driver, event);
  }

  bool recorded() const { return event_.value != nullptr; }
  EventHandle get() const { return event_; }

 private:
  Driver* driver_ = nullptr;
  EventHandle event_;
};

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_HANDLES_H_
