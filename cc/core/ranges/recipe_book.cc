#include "cc/core/ranges/recipe_book.h"

namespace gmlake {

void RecipeBook::Add(Bytes request, const Recipe& recipe) {
  if (num_recipes_ == kMostRecipes || lists_.size() == kMostRecipes) Clear();
  FindOrAdd(request)->push_back(recipe);
  ++num_recipes_;
}

RecipeBook::Recipes* RecipeBook::FindOrAdd(Bytes request) {
  if (2 * (lists_.size() + 1) > slots_.size()) Double();
  Slot& slot = slots_[Locate(request)];
  if (slot.list == kNone) {
    slot = {request, static_cast<int32_t>(lists_.size())};
    lists_.emplace_back();
  }
  return &lists_[slot.list];
}

void RecipeBook::Double() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.list != kNone) slots_[Locate(slot.request)] = slot;
  }
}

void RecipeBook::Clear() {
  slots_.assign(kFewestSlots, Slot());
  lists_.clear();
  num_recipes_ = 0;
}

}  // namespace gmlake
