"""The tests know which package they test, and so do the processes that they start."""

import os

import pytest
import tested


def test_a_package_from_elsewhere_is_refused(tmp_path):
    with pytest.raises(tested.WrongPackageError, match="not from"):
        tested.check(tested.FOLDER, tmp_path)
    tested.check(tested.FOLDER, tested.FOLDER.parent)


def test_a_process_in_a_folder_with_another_package_imports_ours(run_python, tmp_path, monkeypatch):
    (tmp_path / "gmlake_jax").mkdir()
    (tmp_path / "gmlake_jax" / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    run = run_python("import gmlake_jax; print(gmlake_jax.__file__)")
    assert run.stdout.strip() == str(tested.FOLDER / "__init__.py")


def test_a_process_that_imports_another_package_says_so(run_python, tmp_path):
    run = run_python("import tested; tested.check_inside()", TESTED_PACKAGE=str(tmp_path))
    assert run.returncode != 0
    assert "not from" in run.stderr
    assert os.environ["TESTED_PACKAGE"] == str(tested.FOLDER)


def test_programs_are_counted(monkeypatch, tmp_path):
    monkeypatch.setenv("TESTED_LOG", str(tmp_path / "log"))
    tested.log_program(0, 5)
    tested.log_program(2, 7)
    assert (tmp_path / "log").read_text().splitlines()[1] == '{"violations": 2, "launches": 7}'
