"""Run tests as other processors would compute.

OpenBLAS picks its kernels, and NumPy its loops, by the processor; sums then round differently,
and LAPACK returns other eigenvectors where there is a choice. This runs pytest once for every
set of kernels that this processor can run, and once with NumPy's wide loops switched off::

    python -m tests.kernels -m numeric              # all of them
    python -m tests.kernels --others -m numeric     # but the one that pytest alone would use

All other arguments go to pytest.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

Settings = dict[str, str]

# Names that OpenBLAS knows, for x86-64 and ARM; several may lead to the same kernels.
_CORES = (
    "Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX", "Cooperlake",
    "SapphireRapids", "ARMV8", "CORTEXA57", "NEOVERSEN1", "NEOVERSEV1", "VORTEX",
)  # fmt: skip
_PROBE = """
import numpy as np
import scipy.linalg
for kind in (np.float64, np.float32):
    matrix = np.add.outer(np.arange(120.0), np.arange(120.0) ** 2).astype(kind)
    square = matrix @ matrix.T + np.eye(120, dtype=kind)
    np.linalg.eigh(square), np.linalg.solve(square, matrix), square @ matrix[0]
    scipy.linalg.qr(square, pivoting=True)
"""


def core_used(name: str | None) -> str | None:
    """Return the kernels that OpenBLAS runs when asked for ``name``; None where it cannot."""
    asked = {} if name is None else {"OPENBLAS_CORETYPE": name}
    probe = subprocess.run(
        [sys.executable, "-c", _PROBE],
        env=os.environ | asked | {"OPENBLAS_VERBOSE": "2"},
        capture_output=True,
        text=True,
    )
    cores = re.findall(r"^Core: (\S+)$", probe.stderr, re.MULTILINE)
    return cores[0] if probe.returncode == 0 and cores else None


def settings() -> dict[str, Settings]:
    """Return environment variables by the name of what they bring about; the usual one first."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        usual, *cores = pool.map(core_used, (None, *_CORES))
    found: dict[str, Settings] = {usual or "usual": {}}
    for name, core in zip(_CORES, cores, strict=True):
        if core is not None:
            found.setdefault(core, {"OPENBLAS_CORETYPE": name})
    wide = np.show_config(mode="dicts")["SIMD Extensions"].get("found")
    if wide:  # NumPy complains when asked to switch off what is not there
        found["NumPy without " + " ".join(wide)] = {"NPY_DISABLE_CPU_FEATURES": " ".join(wide)}
    return found


def run_pytest(name: str, variables: Settings, arguments: Sequence[str]) -> bool:
    """Run pytest in this environment, show what went wrong, and tell whether all was well."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines = done.stdout.strip().splitlines() or ["no output"]
    well = done.returncode == 0
    shown = lines[-1:] if well else lines
    took = time.monotonic() - began
    print(
        "\n".join([f"{name}: {'passed' if well else 'FAILED'}, {took:.0f} s", *shown]), flush=True
    )
    return well


def main(arguments: Sequence[str]) -> int:
    others = "--others" in arguments
    rest = [argument for argument in arguments if argument != "--others"]
    todo = list(settings().items())[1 if others else 0 :]
    print("Kernels:", ", ".join(name for name, _ in todo) or "no others", flush=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        well = list(pool.map(lambda item: run_pytest(item[0], item[1], rest), todo))
    return 0 if all(well) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
