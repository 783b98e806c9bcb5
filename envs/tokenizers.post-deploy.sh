# Installs Tokbench itself into the new environment: what TOKBENCH_SOURCE names (a checkout, a wheel, a requirement), else
# the checkout that the workflow runs in, else the published package.
set -euo pipefail
if [ -n "${TOKBENCH_SOURCE:-}" ]; then
    source="$TOKBENCH_SOURCE"
elif [ -f setup.py ] && [ -d src/tokbench ]; then
    source=.
else
    source=tokbench
fi
pip install --no-deps --no-build-isolation "$source"
