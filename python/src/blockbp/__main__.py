"""``python -m blockbp`` is the command."""

import os
import subprocess
import sys

from ._run import binary

if os.name == "nt":
    sys.exit(subprocess.call([binary(), *sys.argv[1:]]))
os.execv(binary(), ["blockbp", *sys.argv[1:]])
