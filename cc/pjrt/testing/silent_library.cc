// A library without dlsym: there is nothing to hook in it, and no GetPjrtApi either.
extern "C" __attribute__((visibility("default"))) int Answer() { return 42; }
