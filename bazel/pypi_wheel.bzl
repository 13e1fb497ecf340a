"""Fetches one pinned wheel from PyPI and unpacks the part of it that a build needs, without installing it.

pip does the download, so mirrors, proxies and certificates that the machine has configured for pip apply here too.
The wheel's sha256 is checked by pip (`--require-hashes`); a wheel that was changed in place fails the build.
"""

def _requirements(ctx):
    line = "{} --hash=sha256:{}\n".format(ctx.attr.requirement, ctx.attr.sha256)
    ctx.file("requirements.txt", line)

def _download(ctx, python):
    command = [
        python,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--retries=10",
        "--timeout=60",
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
        "--requirement=requirements.txt",
        "--dest=wheel",
        "--python-version=" + ctx.attr.python_version,
    ]
    if ctx.attr.platform:
        command.append("--platform=" + ctx.attr.platform)
    for _ in range(3):  # what pip itself does not try again: a download that breaks off
        result = ctx.execute(command, timeout = 1200)
        if result.return_code == 0:
            return
    fail("pip could not download {}: {}".format(ctx.attr.requirement, result.stderr))

def _unpack(ctx, python):
    script = """
import pathlib, sys, zipfile
(wheel,) = pathlib.Path("wheel").iterdir()
with zipfile.ZipFile(wheel) as archive:
    archive.extractall(".", [n for n in archive.namelist() if n.startswith(tuple(sys.argv[1:]))])
wheel.unlink()
"""
    result = ctx.execute([python, "-c", script] + ctx.attr.keep, timeout = 600)
    if result.return_code != 0:
        fail("could not unpack {}: {}".format(ctx.attr.requirement, result.stderr))

def _pypi_wheel_impl(ctx):
    python = ctx.os.environ.get("GMLAKE_BUILD_PYTHON", "python3")
    _requirements(ctx)
    _download(ctx, python)
    _unpack(ctx, python)
    ctx.symlink(ctx.attr.build_file, "BUILD.bazel")

pypi_wheel = repository_rule(
    implementation = _pypi_wheel_impl,
    attrs = {
        "build_file": attr.label(mandatory = True, doc = "BUILD file for the unpacked tree"),
        "keep": attr.string_list(mandatory = True, doc = "path prefixes inside the wheel to unpack"),
        "platform": attr.string(doc = "wheel platform tag; empty for pure Python wheels"),
        "python_version": attr.string(default = "3.11", doc = "Python version the wheel is built for"),
        "requirement": attr.string(mandatory = True, doc = "name==version"),
        "sha256": attr.string(mandatory = True, doc = "hash of the wheel file"),
    },
)
