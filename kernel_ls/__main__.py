"""`python -m kernel_ls` is `kernel-ls`."""

import sys

from kernel_ls.cli import main

if __name__ == "__main__":
    sys.exit(main())
