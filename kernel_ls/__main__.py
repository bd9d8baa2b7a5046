"""`python -m kernel_ls` is `kernel-ls`."""

from kernel_ls.cli import main

if __name__ == "__main__":
    main()
