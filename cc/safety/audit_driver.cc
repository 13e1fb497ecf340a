#include "cc/safety/audit_driver.h"

#include <algorithm>
#include <utility>

namespace gmlake {

StatusOr<std::vector<Alias>> AuditDriver::AliasesOf(Address address, Bytes size) const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Alias> aliases;
  for (Address at = address; at < address + size;) {
    auto mapping = mappings_.upper_bound(at);
    if (mapping == mappings_.begin()) return Status(StatusCode::kInvalidArgument, "an address that is not mapped");
    --mapping;
    const auto block = blocks_.find(mapping->second.block);
    const Address end = std::min(address + size, mapping->first + mapping->second.size);
    if (end <= at || block == blocks_.end()) {
      return Status(StatusCode::kInvalidArgument, "a lease whose memory is not mapped, or was released");
    }
    aliases.push_back({block->second.alias + (at - mapping->first), end - at, block->second.mappings});
    at = end;
  }
  return aliases;
}

StatusOr<BlockHandle> AuditDriver::Create(Bytes size) {
  StatusOr<BlockHandle> block = driver_->Create(size);
  if (!block.ok()) return block;
  const StatusOr<Address> alias = MapAlias(*block, size);
  if (!alias.ok()) {
    driver_->Release(*block).IgnoreError();
    return alias.status();
  }
  std::lock_guard<std::mutex> lock(mutex_);
  blocks_[block->value] = {*alias, size};
  return block;
}

StatusOr<Address> AuditDriver::MapAlias(BlockHandle block, Bytes size) {
  const StatusOr<Address> alias = driver_->Reserve(size);
  if (!alias.ok()) return alias;
  Status status = driver_->Map(*alias, size, block);
  if (status.ok()) status = driver_->SetAccess(*alias, size);
  if (status.ok()) return alias;
  UnmapAlias(*alias, size).IgnoreError();
  return status;
}

Status AuditDriver::UnmapAlias(Address alias, Bytes size) {
  Status status = driver_->Unmap(alias, size);
  const Status freed = driver_->FreeAddress(alias, size);
  return status.ok() ? freed : status;
}

// The allocator has proof that nothing queued touches the block, so nothing touches its alias either.
Status AuditDriver::Release(BlockHandle block) {
  Block released;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    released = blocks_[block.value];
    blocks_.erase(block.value);
  }
  Status status = UnmapAlias(released.alias, released.size);
  return status.ok() ? driver_->Release(block) : status;
}

Status AuditDriver::Map(Address address, Bytes size, BlockHandle block) {
  Status status = driver_->Map(address, size, block);
  std::lock_guard<std::mutex> lock(mutex_);
  if (!status.ok()) return status;
  mappings_[address] = {size, block.value};
  ++blocks_[block.value].mappings;
  return status;
}

Status AuditDriver::Unmap(Address address, Bytes size) {
  Forget(address, address + size);
  return driver_->Unmap(address, size);
}

void AuditDriver::Forget(Address from, Address to) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto first = mappings_.lower_bound(from), last = mappings_.lower_bound(to);
  for (auto mapping = first; mapping != last; ++mapping) {
    const auto block = blocks_.find(mapping->second.block);
    if (block != blocks_.end()) --block->second.mappings;
  }
  mappings_.erase(first, last);
}

}  // namespace gmlake
