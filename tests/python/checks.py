"""What the Python tests share: expected errors, and running the functions test_* of a file."""

import sys
import traceback


def raises(kind, words, call, *args, **more):
    try:
        call(*args, **more)
    except kind as error:
        assert words in str(error), f"{error!r} has no '{words}'"
        return error
    raise AssertionError(f"no {kind.__name__}")


def run_tests(functions):
    """Runs those that the command line names, or all; returns the exit code."""
    failed = 0
    chosen = sys.argv[1:]
    for name, test in list(functions.items()):
        if not name.startswith("test_") or (chosen and name not in chosen):
            continue
        try:
            test()
        except BaseException:
            failed += 1
            print(f"{name} failed:", flush=True)
            traceback.print_exc(file=sys.stdout)
    print(f"{failed} failed")
    return 1 if failed else 0
