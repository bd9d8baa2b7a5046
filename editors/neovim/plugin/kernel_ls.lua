-- Loaded by plugin managers: enables the server for Python buffers, and what its code lenses do.
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

-- The lens `TTIR`: the kernel's IR in a window beside it, read-only.
vim.lsp.commands['kernelLs.showIr'] = function(command, context)
  local uri, kernel, stage = unpack(command.arguments)
  local client = assert(vim.lsp.get_client_by_id(context.client_id))
  client:request('kernelLs/ir', { textDocument = { uri = uri }, kernel = kernel, stage = stage }, function(failed, answer)
    if failed or not answer then
      vim.notify('kernel_ls: ' .. (failed and failed.message or 'no answer'), vim.log.levels.WARN)
      return
    end
    vim.cmd('vertical new')
    local text = answer.text ~= '' and answer.text or ('// ' .. answer.message)
    vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(text, '\n'))
    vim.bo.buftype, vim.bo.bufhidden, vim.bo.modifiable, vim.bo.filetype = 'nofile', 'wipe', false, 'mlir'
  end)
end

-- The lens above a kernel: which specialization is shown.
vim.lsp.commands['kernelLs.selectSpecialization'] = function(command, context)
  local uri, kernel = unpack(command.arguments)
  local client = assert(vim.lsp.get_client_by_id(context.client_id))
  client:request('kernelLs/specializations', { textDocument = { uri = uri }, kernel = kernel }, function(failed, answer)
    local found = not failed and answer and answer.kernels[1]
    if not found then
      return
    end
    vim.ui.select(found.specializations, {
      prompt = 'Specialization of ' .. kernel,
      format_item = function(one)
        return (one.active and '* ' or '  ') .. one.title
      end,
    }, function(one)
      if one then
        local choice = { title = 'Select', command = 'kernelLs.selectSpecialization', arguments = { uri, kernel, one.key } }
        client:request('workspace/executeCommand', choice, function() end)
      end
    end)
  end)
end
