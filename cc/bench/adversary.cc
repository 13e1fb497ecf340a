#include "cc/bench/adversary.h"

#include <algorithm>
#include <map>

#include "cc/bench/script.h"

namespace gmlake::bench {
namespace {

constexpr int64_t kPeriodUs = 200;

Bytes Share(Bytes whole, double share) {
  return Bytes(static_cast<int64_t>(static_cast<double>(whole.count()) * share));
}

void FreeAll(Script* script, std::vector<int64_t>* ids) {
  for (const int64_t id : *ids) script->Free(id);
  ids->clear();
}

void Scattered(Bytes most, Dice* dice, Script* script) {
  std::vector<int64_t> large;
  for (int round = 0; round < 4; ++round) {
    while (true) {
      const Bytes size = dice->Size(MiB(2), most / 16);
      if (script->live() + size > most - MiB(1)) break;
      large.push_back(script->Allocate(size));
      script->Allocate(dice->Size(Bytes(256), KiB(512)));  // stays for good
    }
    FreeAll(script, &large);
    script->Free(script->Allocate(most - script->live()));
  }
}

void Alternating(Bytes most, Dice* dice, Script* script) {
  for (int round = 0; round < 6; ++round) {
    const Bytes size = AlignUp(dice->Size(MiB(16), most / 24), MiB(2));
    std::vector<int64_t> ids, others;
    while (script->live() + size <= most) ids.push_back(script->Allocate(size));
    for (size_t i = 0; i < ids.size(); ++i) i % 2 == 0 ? script->Free(ids[i]) : others.push_back(ids[i]);
    ids.clear();
    while (script->live() + size * 2 <= most) ids.push_back(script->Allocate(size * 2));
    FreeAll(script, &others);
    while (script->live() + size * 3 <= most) ids.push_back(script->Allocate(size * 3));
    FreeAll(script, &ids);
  }
}

void Growing(Bytes most, Dice* dice, Script* script) {
  for (int round = 0; round < 4; ++round) {
    const double factor = 1.02 + dice->Share();
    const int64_t num_buffers = dice->Between(1, 48);
    Bytes size = dice->Size(KiB(1), MiB(8));
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < num_buffers; ++i) ids.push_back(script->Allocate(size));
    while (size + Share(size, factor) * num_buffers <= most) {
      size = Share(size, factor);
      std::vector<int64_t> grown;
      for (int64_t i = 0; i < num_buffers; ++i) {
        grown.push_back(script->Allocate(size));
        script->Free(ids[i]);
      }
      ids = std::move(grown);
    }
    ids.push_back(script->Allocate(most - script->live()));
    FreeAll(script, &ids);
  }
}

void Power(Bytes most, Dice* dice, Script* script) {
  const int64_t largest = 63 - __builtin_clzll(static_cast<uint64_t>(most.count() / 12));
  std::vector<int64_t> live;
  for (int i = 0; i < 3000; ++i) {
    const Bytes size((int64_t{1} << dice->Between(8, largest)) + 1);
    while (script->live() + size > most) script->Free(dice->Draw(&live));
    live.push_back(script->Allocate(size));
  }
}

void Residents(Bytes most, Dice* dice, Script* script) {
  std::vector<Bytes> sizes;
  for (int i = 0; i < 8; ++i) sizes.push_back(dice->Size(most / 640, most / 48));
  std::vector<int64_t> residents;
  const auto fill = [&] {
    while (true) {
      const Bytes size = sizes[dice->Below(8)];
      if (script->live() + size > most / 3) break;
      residents.push_back(script->Allocate(size));
    }
  };
  for (int round = 0; round < 60; ++round) {
    fill();
    script->Free(script->Allocate(most - script->live() - MiB(1) * dice->Below(64)));
    for (int i = 0; i < 3; ++i) script->Free(dice->Draw(&residents));
  }
}

void Settled(Bytes most, Dice* dice, Script* script) {
  constexpr size_t kMostSettlers = 200;
  std::vector<int64_t> settlers, large;
  for (int round = 0; round < 6; ++round) {
    while (true) {
      const bool settles = dice->Share() < 0.3 && settlers.size() < kMostSettlers;
      const Bytes size = MiB(2) * (settles ? dice->Between(1, 3) : dice->Between(8, 32));
      if (script->live() + size > most) break;
      (settles ? settlers : large).push_back(script->Allocate(size));
    }
    FreeAll(script, &large);
    script->Free(script->Allocate(most - script->live()));
    while (settlers.size() > kMostSettlers / 2) script->Free(dice->Draw(&settlers));
  }
}

// Each survivor keeps a slab, so that much less can be had.
void Slabs(Bytes most, Dice* dice, Script* script) {
  constexpr Bytes kSlab = MiB(2);
  script->Free(script->Allocate(Share(most, 0.5 + dice->Share() / 2)));
  for (int round = 0; round < 4; ++round) {
    const Bytes large_size = dice->Size(MiB(16), most / 64);
    const Bytes filled = Share(most, 0.6 + 0.4 * dice->Share());
    std::vector<int64_t> survivors, others;
    while (script->live() + large_size + kSlab * (survivors.size() + 1) <= filled) {
      for (int i = 0; i < 8; ++i)
        (i == 0 ? survivors : others).push_back(script->Allocate(dice->Size(KiB(1), KiB(250))));
      others.push_back(script->Allocate(large_size));
    }
    FreeAll(script, &others);
    script->Free(script->Allocate(most - kSlab * survivors.size()));
    FreeAll(script, &survivors);
    script->Free(script->Allocate(most));
  }
}

// Fragments of about a slab between large leases become slabs; one small lease survives in each.
void Fragments(Bytes most, Dice* dice, Script* script) {
  constexpr Bytes kSlab = MiB(2);
  constexpr size_t kMostSlabs =
      160;  // fewer than the last 2 % of the limit hold, for policies that keep slabs for good
  script->Free(script->Allocate(Share(most, 0.8 + dice->Share() / 5)));
  for (int round = 0; round < 4; ++round) {
    const Bytes large_size = AlignUp(dice->Size(MiB(16), most / 64), kSlab);
    std::vector<int64_t> large, fragments, survivors, others;
    while (script->live() + large_size + kSlab <= most) {
      large.push_back(script->Allocate(large_size));
      fragments.push_back(script->Allocate(kSlab));
    }
    const size_t num_slabs = std::min(kMostSlabs, fragments.size());
    FreeAll(script, &fragments);
    for (size_t i = 0; i < 8 * num_slabs && script->live() + KiB(250) <= most; ++i)
      (i % 8 == 0 ? survivors : others).push_back(script->Allocate(dice->Size(KiB(200), KiB(250))));
    FreeAll(script, &large);
    FreeAll(script, &others);
    script->Free(script->Allocate(most - kSlab * survivors.size()));
    FreeAll(script, &survivors);
    script->Free(script->Allocate(most));
  }
}

void Loading(Bytes most, Dice* dice, Script* script) {
  std::vector<int64_t> temporary;
  while (script->live() < most / 8) {
    script->Allocate(dice->Size(MiB(1), MiB(4)));
    temporary.push_back(script->Allocate(dice->Size(MiB(14), MiB(30))));
  }
  FreeAll(script, &temporary);
  script->Free(script->Allocate(most - script->live()));
}

using Maker = void (*)(Bytes most, Dice* dice, Script* script);

const std::map<std::string, Maker>& Makers() {
  static const auto* makers = new std::map<std::string, Maker>{
      {"scattered", Scattered}, {"alternating", Alternating}, {"growing", Growing}, {"power", Power},
      {"residents", Residents}, {"settled", Settled},         {"loading", Loading}, {"slabs", Slabs},
      {"fragments", Fragments}};
  return *makers;
}

}  // namespace

const std::vector<std::string>& AdversaryNames() {
  static const auto* names = [] {
    auto* list = new std::vector<std::string>;
    for (const auto& [name, maker] : Makers()) list->push_back(name);
    return list;
  }();
  return *names;
}

std::vector<RawEvent> MakeAdversary(const std::string& name, Bytes limit, uint64_t seed) {
  Dice dice(seed);
  Script script(kPeriodUs);
  Makers().at(name)(Share(limit, 0.98), &dice, &script);
  return script.Finish();
}

}  // namespace gmlake::bench
