// Recipes: by which range, and where in it, a request of some size was served before.
//
// The book finds the recipes of a size; whether one applies is for the range table to say.
#ifndef GMLAKE_CORE_RECIPE_BOOK_H_
#define GMLAKE_CORE_RECIPE_BOOK_H_

#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/tables/chunk.h"
#include "cc/core/tables/obstacle.h"

namespace gmlake {

// "A request of this size was served there." `obstacle` is what was in the way when last asked.
struct Recipe {
  RangeId range;
  Bytes offset;
  int64_t moment;      // of its first use
  size_t first_block;  // where in StitchedRange::blocks the block under `offset` is
  Obstacle obstacle;
};

// Model: a hash table from sizes to lists; a list keeps the order in which its recipes were first used. Invariant: at
// most half full. Thread rule: the allocator's lock. Cost: one or two cache lines to find a size.
class RecipeBook {
 public:
  using Recipes = std::vector<Recipe>;

  RecipeBook() : slots_(kFewestSlots) {}

  // Null: there are none.
  Recipes* Find(Bytes request) {
    const int32_t list = slots_[Locate(request)].list;
    return list == kNone ? nullptr : &lists_[list];
  }
  // When there are too many, because a program's sizes never repeat, all are forgotten and learnt again.
  void Add(Bytes request, const Recipe& recipe);

  // Calls `visit(request, recipe)` for every recipe and drops those for which it returns false.
  template <typename Visit>
  void Revise(Visit visit) {
    for (const Slot& slot : slots_) {
      if (slot.list != kNone) num_recipes_ -= ReviseList(&lists_[slot.list], slot.request, visit);
    }
  }

 private:
  static constexpr size_t kFewestSlots = 1 << 6;
  static constexpr int64_t kMostRecipes = 1 << 16;
  struct Slot {
    Bytes request;
    int32_t list = kNone;
  };

  size_t Locate(Bytes request) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = static_cast<size_t>((static_cast<uint64_t>(request.count()) * 0x9E3779B97F4A7C15ull) >> 40) & mask;
    while (slots_[slot].list != kNone && slots_[slot].request != request) slot = (slot + 1) & mask;
    return slot;
  }
  Recipes* FindOrAdd(Bytes request);
  void Double();
  void Clear();
  template <typename Visit>
  static int64_t ReviseList(Recipes* recipes, Bytes request, Visit visit) {
    size_t kept = 0;
    for (Recipe& recipe : *recipes) {
      if (visit(request, &recipe)) (*recipes)[kept++] = recipe;
    }
    const int64_t dropped = static_cast<int64_t>(recipes->size() - kept);
    recipes->resize(kept);
    return dropped;
  }

  std::vector<Slot> slots_;
  std::vector<Recipes> lists_;
  int64_t num_recipes_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_RECIPE_BOOK_H_
