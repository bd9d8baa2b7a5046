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
wait(30000, function()
  return vim.g.kernel_ls_status.state == 'ready' or vim.g.kernel_ls_status.state == 'busy'
end, 'the worker runs')
out.status = vim.g.kernel_ls_status

-- What the features say, over the editor's own client.
local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(buffer, method, params, 10000) or {}
  return (answers[client.id] or {}).result
end
local document = { uri = vim.uri_from_bufnr(buffer) }
local hover = ask('textDocument/hover', { textDocument = document, position = { line = 9, character = 5 } })
out.hover = hover and hover.contents.value or ''
local whole = { start = { line = 0, character = 0 }, ['end'] = { line = 30, character = 0 } }
out.hints = #(ask('textDocument/inlayHint', { textDocument = document, range = whole }) or {})
vim.cmd('runtime plugin/kernel_ls.lua')
local lenses = ask('textDocument/codeLens', { textDocument = document }) or {}
for _, lens in ipairs(lenses) do
  local resolved = client:request_sync('codeLens/resolve', lens, 10000, buffer).result
  if resolved.command.title == 'TTIR' and not out.ir then
    vim.lsp.commands['kernelLs.showIr'](resolved.command, { client_id = client.id })
    wait(10000, function()
      return vim.bo.filetype == 'mlir'
    end, 'the TTIR is shown')
    out.ir = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
    vim.cmd('close')
  end
end

io.stdout:write(vim.json.encode(out) .. '\n')
client:stop()
wait(10000, function() return client:is_stopped() end, 'a clean shutdown')
os.exit(0)
