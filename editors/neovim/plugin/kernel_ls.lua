-- Loaded by plugin managers: enables the server for Python buffers, and a command to start a stuck worker anew.
if vim.fn.has('nvim-0.11') == 0 then
  vim.notify_once('kernel_ls needs Neovim 0.11 or newer', vim.log.levels.WARN)
  return
end

vim.lsp.enable('kernel_ls')

vim.api.nvim_create_user_command('KernelLsRestartWorker', function()
  for _, client in ipairs(vim.lsp.get_clients({ name = 'kernel_ls' })) do
    client:exec_cmd({ title = 'Restart worker', command = 'kernelLs.restartWorker' })
  end
end, { desc = 'Start the kernel_ls worker anew' })
