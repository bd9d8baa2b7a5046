-- nvim --clean --headless -n -l neovim_check.lua FILE RUNTIME SERVER-COMMAND...
-- Opens FILE with the project's own Neovim configuration, waits for diagnostics, mends one fault by an unsaved edit, waits again,
-- stops the server; prints one JSON object on stdout. Exit status 1 on a timeout.
local file, runtime = _G.arg[1], _G.arg[2]
local command = vim.list_slice(_G.arg, 3)

local function die(message)
  io.stderr:write(message .. '\n')
  os.exit(1)
end
local function wait(milliseconds, condition, what)
  if not vim.wait(milliseconds, condition, 20) then
    die('timeout: ' .. what)
  end
end

vim.opt.runtimepath:append(runtime)
vim.cmd('filetype on')
vim.lsp.config('kernel_ls', { cmd = command })
vim.lsp.enable('kernel_ls')
vim.cmd.edit(file)
local buffer = vim.api.nvim_get_current_buf()

local client
wait(20000, function()
  client = vim.lsp.get_clients({ bufnr = buffer, name = 'kernel_ls' })[1]
  return client and client.initialized
end, 'the client attaches')

local function codes()
  local found = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(buffer)) do
    if diagnostic.severity <= vim.diagnostic.severity.WARN then
      table.insert(found, { code = diagnostic.code, line = diagnostic.lnum + 1, message = diagnostic.message })
    end
  end
  table.sort(found, function(a, b) return a.line < b.line end)
  return found
end

wait(60000, function() return #codes() >= 2 end, 'two diagnostics')
local out = { before = codes(), server = client.server_info, encoding = client.offset_encoding }

vim.api.nvim_buf_set_lines(buffer, 4, 5, false, { 'SCALE = tl.constexpr(0.5)' })
wait(30000, function() return #codes() == 1 end, 'one diagnostic after the edit')
out.after = codes()
out.modified = vim.bo[buffer].modified
out.status = vim.g.kernel_ls_status

io.stdout:write(vim.json.encode(out) .. '\n')
client:stop()
wait(10000, function() return client:is_stopped() end, 'a clean shutdown')
os.exit(0)
