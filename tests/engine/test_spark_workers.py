"""What workers say, as one line; none of it needs Spark."""

import shutil
from pathlib import Path

import pytest

import covmis_build
from covmis_build.engine import spark_workers
from covmis_build.errors import InputError, ServiceError


class Captured(Exception):
    __module__ = "pyspark.errors.exceptions.captured"


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        (
            ("Job aborted: Traceback (most recent call last):\n  File x\n"
            "covmis_build.errors.ServiceError: s3://b/x cannot be read: 403. Credentials and endpoint come from the environment\n\n\tat org.apache"),
            ServiceError,
            "s3://b/x cannot be read: 403. Credentials and endpoint come from the environment",
        ),
        ("Traceback:\nModuleNotFoundError: No module named 'covmis_build'", InputError, "a worker has no covmis"),
        ("[PYTHON_VERSION_MISMATCH] 3.10 3.11", InputError, "another version of Python"),
        ('java.io.IOException: Cannot run program "/a/python": error=2', InputError, "cannot run /a/python"),
        ("x\n\tat y\nCaused by: java.io.IOException: disk full\n\tat z", ServiceError, "IOException: disk full"),
        ("x: java.lang.OutOfMemoryError: Java heap space", ServiceError, "--conf spark.driver.memory=6g gives more"),
        ("", ServiceError, "Spark failed: Captured"),
    ],
    ids=["ours", "missing", "python", "program", "java", "memory", "silent"],
)  # fmt: skip
def test_an_error_of_spark_is_one_line(text, kind, words):
    told = spark_workers.error_from_worker(Captured(text))
    assert type(told) is kind
    assert words in str(told)
    assert "\n" not in str(told)


def test_other_errors_are_not_spark_s():
    assert spark_workers.error_from_worker(ValueError("x")) is None


def test_a_worker_with_other_code_of_the_same_version_is_refused(tmp_path, monkeypatch):
    wanted = spark_workers.edition()
    spark_workers.agree(wanted)
    other = Path(shutil.copytree(Path(covmis_build.__file__).parent, tmp_path / "covmis_build"))
    with (other / "keyed.py").open("a") as file:
        file.write("# something else\n")
    monkeypatch.setattr(spark_workers, "__file__", str(other / "engine" / "spark_workers.py"))
    monkeypatch.setattr(spark_workers, "edition", spark_workers.edition.__wrapped__)
    with pytest.raises(InputError, match="Install the same covmis"):
        spark_workers.agree(wanted)


def test_a_file_that_is_not_there_or_another_is_unseen(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("{}\n")
    assert spark_workers.look([(str(path), 3)]) == ()
    assert spark_workers.look([(str(path), 4)]) == ((str(path), "3 bytes instead of 4"),)
    assert spark_workers.look([(f"{path}.gz", 3)]) == ((f"{path}.gz", "No such file or directory"),)
