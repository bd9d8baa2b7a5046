"""kernel_ls: a language server and static checker for Triton GPU kernels."""

__version__ = "0.1.0"
