"""What the engine starts for `--policy-pack infra/policy`."""

import gc
import sys
from pathlib import Path

gc.disable()  # it ends with its preview: looking for garbage costs more than all of it is worth

# The pack's folder comes first on the path, where `rule` or `locations` would shadow other modules of these names.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).parent.resolve()]

from infra.policy.pack import main  # noqa: E402

main()
