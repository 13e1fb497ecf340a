"""Libraries that the machine itself provides: GoogleTest and google-benchmark (Debian packages), Python's headers."""

_ROOTS = ["/usr", "/usr/local"]

def _find_root(ctx, header):
    for root in _ROOTS:
        if ctx.path("{}/include/{}".format(root, header)).exists:
            return root
    fail("{} is not installed: apt-get install {}".format(header, ctx.attr.debian_package))

def _library_file(ctx, root, name):
    for extension in ["a", "so"]:
        for folder in ["lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64", "lib"]:
            path = ctx.path("{}/{}/lib{}.{}".format(root, folder, name, extension))
            if path.exists:
                return path
    fail("lib{} is not installed: apt-get install {}".format(name, ctx.attr.debian_package))

def _local_library_impl(ctx):
    root = _find_root(ctx, ctx.attr.headers[0])
    for header in ctx.attr.headers:
        ctx.symlink("{}/include/{}".format(root, header), "include/" + header)
    libraries = []
    for name in ctx.attr.libraries:
        library = _library_file(ctx, root, name)
        ctx.symlink(library, library.basename)
        libraries.append(library.basename)
    ctx.file("BUILD.bazel", """
cc_library(
    name = "{name}",
    srcs = {libraries},
    hdrs = glob(["include/**"]),
    includes = ["include"],
    linkopts = ["-lpthread"],
    visibility = ["//visibility:public"],
)
""".format(name = ctx.name, libraries = libraries))

local_library = repository_rule(
    implementation = _local_library_impl,
    attrs = {
        "debian_package": attr.string(mandatory = True, doc = "what to install where it is missing"),
        "headers": attr.string_list(mandatory = True, doc = "folders or files below include/"),
        "libraries": attr.string_list(mandatory = True, doc = "names without lib and extension; archives before shared objects"),
    },
    local = True,
)

def _local_python_impl(ctx):
    python = ctx.os.environ.get("GMLAKE_BUILD_PYTHON", "python3")
    query = """
import sys, sysconfig
stable = sys.version_info >= (3, 12) and not sysconfig.get_config_var("Py_GIL_DISABLED")
print(sysconfig.get_paths()["include"], stable, sep="\\n")
"""
    result = ctx.execute([python, "-c", query])
    if result.return_code != 0:
        fail("{} does not run: {}".format(python, result.stderr))
    include, has_stable_abi = result.stdout.strip().split("\n")
    ctx.symlink(include, "include")
    defines = ["Py_LIMITED_API=0x030C0000"] if has_stable_abi == "True" else []
    ctx.file("BUILD.bazel", """
cc_library(
    name = "headers",
    hdrs = glob(["include/**"]),
    defines = {defines},
    includes = ["include"],
    visibility = ["//visibility:public"],
)
""".format(defines = defines))

local_python = repository_rule(
    implementation = _local_python_impl,
    environ = ["GMLAKE_BUILD_PYTHON"],
    local = True,
)
