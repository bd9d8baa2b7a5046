"""What the terminal's commands do, one module a command; `kernel_ls.cli` reads the arguments."""
