"""Comments and documents name files and sections that exist; two pages keep their sentences short."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("bazel", "benchmarks", "cc", "docs", "examples", "gmlake_jax", "research", "tests", "tools")
KINDS = "md|h|cc|cu|py|toml|jsonl|bzl"

# Names of files that are not of this tree: those of others, and made-up ones in examples.
FOREIGN = {"cuda.h", "cuda_runtime_api.h", "_memory_viz.py", "bfc_allocator.cc", "array_test.py"}
MADE_UP = {"train.py", "prog.py", "frob.py"}


def is_ours(path):
    return path.is_file() and not {"__pycache__", "_emulator"} & set(path.parts)


def files():
    inside = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    return sorted(filter(is_ours, [*inside, *ROOT.iterdir()]))


FILES = [path.relative_to(ROOT).as_posix() for path in files()]
BY_NAME = {}
for _name in FILES:
    BY_NAME.setdefault(_name.rsplit("/", 1)[-1], []).append(_name)

SELF = "tests/unit/test_docs_names.py"  # names files that do not exist, to try the check
READ = [name for name in FILES if re.search(r"\.(md|h|cc|cu|py|bzl)$|(^|/)(BUILD|Makefile)$", name) and name != SELF]
PAGES = [name for name in FILES if name.endswith(".md")]


def prose(name, text):
    """What is written for people: a page as a whole, of code its comments and docstrings."""
    if name.endswith(".md"):
        return text
    if name.endswith((".h", ".cc", ".cu")):
        return "\n".join(re.findall(r"//.*", text))
    return "\n".join([*re.findall(r'"""(.*?)"""', text, re.DOTALL), *re.findall(r"#.*", text)])


def named(text):
    """The file names in a text, as (path, anchor)."""
    return re.findall(rf"(?<![\w*%{{}}<>/.-])((?:[\w.-]+/)*[\w-]+\.(?:{KINDS}))(#[\w-]+)?(?![\w(])(?!\.\w)", text)


def found(name, path):
    """The file that a text in `name` means by `path`, or None."""
    beside = (Path(name).parent / path).as_posix()
    exact = [
        each
        for each in (path, beside, f"docs/{path}", path.removeprefix("./"))
        if (ROOT / each).resolve().is_relative_to(ROOT) and (ROOT / each).is_file()
    ]
    ends = [each for each in BY_NAME.get(path.rsplit("/", 1)[-1], []) if each.endswith(f"/{path}")]
    return next(iter([*exact, *ends]), None)


def sections(page):
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", (ROOT / page).read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def problems(name, text):
    """What a text names that does not exist."""
    for path, anchor in named(prose(name, text)):
        if path.rsplit("/", 1)[-1] in FOREIGN | MADE_UP:
            continue
        target = found(name, path)
        if target is None:
            yield f"{name} names {path}, which does not exist"
        elif anchor and target.endswith(".md") and anchor[1:] not in sections(target):
            yield f"{name} names {path}{anchor}, but {target} has no such section"


@pytest.mark.parametrize("name", READ)
def test_every_file_and_section_that_a_text_names_exists(name):
    assert list(problems(name, (ROOT / name).read_text())) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page):
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(#[^)]+)?\)", text):
        path = (ROOT / page).parent / target if target else ROOT / page
        assert path.exists(), f"{page} links to {target}"
        assert not anchor or anchor[1:] in sections(path.resolve().relative_to(ROOT)), f"{page}: {target}{anchor}"


def test_the_check_sees_a_missing_file_and_a_missing_section():
    assert list(problems("cc/a.h", "// See cc/core/missing.h."))
    assert list(problems("cc/a.h", "// See docs/stats.md#no-such-section."))
    assert list(problems("gmlake_jax/a.py", '"""See docs/missing.md."""'))
    assert list(problems("docs/a.md", "see [x](missing.md)"))
    assert not list(problems("cc/a.h", '#include "cc/core/missing.h"\n// See docs/stats.md#counts and placer.h.'))


def test_every_exception_is_needed():
    texts = [prose(name, (ROOT / name).read_text()) for name in READ]
    mentioned = {path.rsplit("/", 1)[-1] for text in texts for path, _ in named(text)}
    assert mentioned >= (FOREIGN | MADE_UP)


def sentences(text):
    """The sentences of a page outside of code, tables' cells and list items included."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    cells = "\n\n".join(cell for row in re.findall(r"^\|(.*)\|$", text, re.MULTILINE) for cell in row.split(" | "))
    text = re.sub(r"^(\||#|!\[|    ).*$", "", text, flags=re.MULTILINE) + "\n\n" + cells
    for paragraph in re.split(r"\n\s*\n|\n\s*(?=[-*] |\d+\. )", text):
        plain = re.sub(r"\]\([^)]*\)", "]", " ".join(paragraph.split()))
        yield from re.split(r"(?<=[.!?:])\*{0,2}\)?\s+", plain)


@pytest.mark.parametrize("page", ["docs/design.md", "docs/placement.md", "docs/tuning.md"])
def test_a_sentence_has_fewer_than_30_words(page):
    long = [each for each in sentences((ROOT / page).read_text()) if len(re.findall(r"[\w`][^\s]*", each)) >= 30]
    assert long == []


def test_the_count_sees_a_long_sentence():
    assert max(len(each.split()) for each in sentences("One two. " + "word " * 30 + "end.")) > 30
