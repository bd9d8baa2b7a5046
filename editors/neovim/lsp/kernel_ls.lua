-- Neovim >= 0.11 reads this file when `vim.lsp.enable('kernel_ls')` is called and this folder is on the runtimepath.
--
-- The server finds the interpreter whose Triton checks by itself: an activated environment or `.venv` of the project,
-- else `python3` on the PATH. To name one: vim.lsp.config('kernel_ls', { settings = { kernelLs = { python = '...' } } })
local namespace = vim.api.nvim_create_namespace('kernel_ls')

-- A column of the protocol as a byte of the line.
local function byte(buffer, client, position)
  local line = vim.api.nvim_buf_get_lines(buffer, position.line, position.line + 1, false)[1] or ''
  return vim.str_byteindex(line, client and client.offset_encoding or 'utf-16', position.character, false)
end

return {
  cmd = { 'kernel-ls', 'server' },
  filetypes = { 'python' },
  root_markers = { 'pyproject.toml', 'setup.py', 'setup.cfg', '.git' },
  settings = { kernelLs = vim.empty_dict() },
  init_options = { inactiveRegions = true },
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
    -- Statements that no specialization in use generates.
    ['kernelLs/inactiveRegions'] = function(_, message, context)
      local buffer = vim.uri_to_bufnr(message.textDocument.uri)
      if not vim.api.nvim_buf_is_loaded(buffer) then
        return
      end
      local client = vim.lsp.get_client_by_id(context.client_id)
      vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
      for _, region in ipairs(message.regions) do
        local first, last = region.range.start, region.range['end']
        vim.api.nvim_buf_set_extmark(buffer, namespace, first.line, byte(buffer, client, first), {
          end_row = last.line,
          end_col = byte(buffer, client, last),
          hl_group = 'DiagnosticUnnecessary',
          strict = false,
        })
      end
    end,
  },
}
