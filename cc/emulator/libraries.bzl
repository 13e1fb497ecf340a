"""How the emulated CUDA libraries are built: each is one shared library under NVIDIA's name for it."""

# Nothing of the C++ runtime is shared with the process that loads the library, so that it runs wherever it is copied.
_LINK = [
    "-Wl,-Bsymbolic",
    "-Wl,--exclude-libs,ALL",
    # Bazel's toolchain adds -lstdc++ itself, after these; by then the archive has satisfied everything.
    "-Wl,--as-needed",
    "-l:libstdc++.a",
    # libstdc++.a holds std::random_device, which nobody here calls and which would tie the library to glibc 2.36.
    "-Wl,--defsym=arc4random=0",
    "-ldl",
    "-lpthread",
]

def stubs(name, prefix, answer, sources):
    """NAME.c: a stub for every entry point named in `sources` (see stubs.py)."""
    native.genrule(
        name = name,
        srcs = sources,
        outs = [name + ".c"],
        cmd = "python3 $(location stubs.py) --prefix={} --answer={} --output=$@ {}".format(
            prefix,
            answer,
            " ".join(["$(locations {})".format(source) for source in sources]),
        ),
        tools = ["stubs.py"],
    )

def emulated_library(name, srcs, deps = [], **kwargs):
    """A shared library called `name`, which is also its soname."""
    native.cc_binary(
        name = name,
        srcs = srcs,
        linkopts = ["-Wl,-soname," + name] + _LINK,
        linkshared = True,
        deps = deps,
        visibility = ["//visibility:public"],
        **kwargs
    )

def companion_library(names, source, prefix, answer, sources):
    """A library beside libcuda, under each of `names`."""
    stubs("stubs_" + prefix, prefix, answer, sources)
    for name in names:
        emulated_library(
            name,
            [
                "companions/companion.cc",
                "companions/companion.h",
                source,
                ":stubs_" + prefix,
            ],
        )
