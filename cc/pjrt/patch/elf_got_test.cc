#include "cc/pjrt/patch/elf_got.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "cc/pjrt/patch/page_protection.h"
#include "cc/pjrt/testing/synthetic_image.h"

namespace gmlake {
namespace {

struct Machine {
  const char* name;
  int number;
  uint32_t jump_slot;
  uint32_t glob_dat;
  uint32_t other;
};

// A slot's content stands for a function; only its address matters.
int real_function, our_function, foreign_function;

class ElfGotTest : public testing::TestWithParam<Machine> {};

TEST_P(ElfGotTest, FindsTheSymbolInBothTablesAndNothingElse) {
  SyntheticImage image(GetParam().number);
  void** called = image.Import("dlsym", GetParam().jump_slot, true, &real_function);
  image.Import("dlsymx", GetParam().jump_slot, true, &real_function);
  image.Import("dlopen", GetParam().glob_dat, false, &real_function);
  void** pointer = image.Import("dlsym", GetParam().glob_dat, false, &real_function);
  EXPECT_EQ(FindGotSlots(image.Finish(), "dlsym"), (std::vector<void**>{called, pointer}));
}

TEST_P(ElfGotTest, IgnoresRelocationsThatAreNoFunctionSlots) {
  SyntheticImage image(GetParam().number);
  image.Import("dlsym", GetParam().other, false, &real_function);
  EXPECT_TRUE(FindGotSlots(image.Finish(), "dlsym").empty());
}

TEST_P(ElfGotTest, ReadsTablesGivenAsOffsetsFromTheBase) {
  SyntheticImage image(GetParam().number, /*relative_tables=*/true);
  void** slot = image.Import("dlsym", GetParam().jump_slot, true, &real_function);
  EXPECT_EQ(FindGotSlots(image.Finish(), "dlsym"), (std::vector<void**>{slot}));
}

TEST_P(ElfGotTest, WritesReadOnlySlotsAndLeavesThemReadOnly) {
  SyntheticImage image(GetParam().number);
  void** slot = image.Import("dlsym", GetParam().glob_dat, false, &real_function);
  const ElfImage finished = image.Finish();
  image.MakeSlotsReadOnly();
  ASSERT_TRUE(PatchGotSlots(finished, {slot}, &real_function, &our_function).ok());
  EXPECT_EQ(*slot, &our_function);
  EXPECT_EQ(ProtectionOf(slot), PROT_READ);
}

TEST_P(ElfGotTest, AcceptsASlotThatIsNotResolvedYet) {
  SyntheticImage image(GetParam().number);
  void** slot = image.Import("dlsym", GetParam().jump_slot, true, image.Stub());
  ASSERT_TRUE(PatchGotSlots(image.Finish(), {slot}, &real_function, &our_function).ok());
  EXPECT_EQ(*slot, &our_function);
}

TEST_P(ElfGotTest, ChangesNothingIfAnySlotWasRedirectedBySomebodyElse) {
  SyntheticImage image(GetParam().number);
  void** usual = image.Import("dlsym", GetParam().jump_slot, true, &real_function);
  void** foreign = image.Import("dlsym", GetParam().glob_dat, false, &foreign_function);
  const Status patched = PatchGotSlots(image.Finish(), {usual, foreign}, &real_function, &our_function);
  EXPECT_EQ(patched.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(*usual, &real_function);
  EXPECT_EQ(*foreign, &foreign_function);
}

INSTANTIATE_TEST_SUITE_P(
    Machines, ElfGotTest,
    testing::Values(Machine{"x86_64", EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_64},
                    Machine{"aarch64", EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_ABS64}),
    [](const testing::TestParamInfo<Machine>& info) { return info.param.name; });

TEST(ElfGotMachineTest, FindsNothingForAMachineItDoesNotKnow) {
  SyntheticImage image(EM_RISCV);
  image.Import("dlsym", R_X86_64_JUMP_SLOT, true, &real_function);
  EXPECT_TRUE(FindGotSlots(image.Finish(), "dlsym").empty());
}

class LoadedLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen("cc/pjrt/testing/liblooking.so", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
  }
  void* library_ = nullptr;
};

void* AnswerNothing(void*, const char*) { return nullptr; }

TEST_F(LoadedLibraryTest, RedirectsTheCallsOfThatLibraryAlone) {
  const auto look_up = reinterpret_cast<void* (*)(void*, const char*)>(dlsym(library_, "LookUpIn"));
  ASSERT_NE(look_up(RTLD_DEFAULT, "malloc"), nullptr);
  const StatusOr<ElfImage> image = ImageOf(library_);
  ASSERT_TRUE(image.ok());
  const std::vector<void**> slots = FindGotSlots(*image, "dlsym");
  ASSERT_FALSE(slots.empty());
  void* const real = reinterpret_cast<void*>(&dlsym);
  void* const ours = reinterpret_cast<void*>(&AnswerNothing);
  ASSERT_TRUE(PatchGotSlots(*image, slots, real, ours).ok());
  EXPECT_EQ(look_up(RTLD_DEFAULT, "malloc"), nullptr);
  EXPECT_NE(dlsym(RTLD_DEFAULT, "malloc"), nullptr);
  ASSERT_TRUE(PatchGotSlots(*image, slots, ours, real).ok());
  EXPECT_NE(look_up(RTLD_DEFAULT, "malloc"), nullptr);
}

TEST_F(LoadedLibraryTest, KnowsHowFarTheLibraryExtends) {
  const StatusOr<ElfImage> image = ImageOf(library_);
  ASSERT_TRUE(image.ok());
  const uintptr_t function = reinterpret_cast<uintptr_t>(dlsym(library_, "LookUpIn"));
  EXPECT_LT(function - image->base, image->size);
  EXPECT_GE(reinterpret_cast<uintptr_t>(&dlsym) - image->base, image->size);
}

}  // namespace
}  // namespace gmlake
