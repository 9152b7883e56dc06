"""What is measured, and against whom: ``make bench``."""

import os

for _name in ("OPENBLAS", "OMP", "MKL"):  # before anything imports NumPy
    os.environ.setdefault(f"{_name}_NUM_THREADS", "1")
