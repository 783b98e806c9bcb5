# Installs Tokbench itself from the workflow's folder into the new environment.
set -euo pipefail
pip install --no-deps --no-build-isolation .
