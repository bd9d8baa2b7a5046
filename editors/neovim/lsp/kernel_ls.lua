-- Neovim >= 0.11 reads this file when `vim.lsp.enable('kernel_ls')` is called and this folder is on the runtimepath.
--
-- The server finds the interpreter whose Triton checks by itself: an activated environment or `.venv` of the project,
-- else `python3` on the PATH. To name one: vim.lsp.config('kernel_ls', { settings = { kernelLs = { python = '...' } } })
return {
  cmd = { 'kernel-ls', 'server' },
  filetypes = { 'python' },
  root_markers = { 'pyproject.toml', 'setup.py', 'setup.cfg', '.git' },
  settings = { kernelLs = vim.empty_dict() },
  handlers = {
    -- What the worker is doing, for a status line: vim.g.kernel_ls_status
    ['kernelLs/status'] = function(_, status)
      vim.g.kernel_ls_status = status
      if status.state == 'failed' or status.state == 'no-triton' then
        vim.schedule(function()
          vim.notify_once('kernel_ls: ' .. status.message, vim.log.levels.WARN)
        end)
      end
      vim.api.nvim_exec_autocmds('User', { pattern = 'KernelLsStatus', modeline = false })
    end,
  },
}
