// Runs inside VS Code's extension host: opens the file, waits for findings, mends one by an unsaved edit, waits again.
const fs = require("fs");
const vscode = require("vscode");

const codes = (uri) =>
  vscode.languages
    .getDiagnostics(uri)
    .filter((d) => d.severity <= vscode.DiagnosticSeverity.Warning)
    .map((d) => ({ code: d.code?.value ?? d.code, line: d.range.start.line + 1, message: d.message }))
    .sort((a, b) => a.line - b.line);

async function until(condition, milliseconds) {
  const end = Date.now() + milliseconds;
  while (!condition() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 50));
}

// What the features say, by the editor's own interface.
async function features(uri, document, out) {
  const row = document.getText().split("\n").findIndex((line) => line.includes("offs ="));
  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  const ask = (command, ...rest) => vscode.commands.executeCommand(command, uri, ...rest);
  const hovers = await ask("vscode.executeHoverProvider", new vscode.Position(row, 5));
  out.hover = hovers.flatMap((h) => h.contents.map((c) => c.value ?? String(c))).join("\n");
  const hints = await ask("vscode.executeInlayHintProvider", whole);
  out.hints = hints.map((h) => (typeof h.label === "string" ? h.label : h.label.map((part) => part.value).join("")));
  const lenses = await ask("vscode.executeCodeLensProvider", 10);
  out.lenses = lenses.map((lens) => lens.command?.title);
  const shown = lenses.find((lens) => lens.command?.title === "TTIR");
  if (shown) {
    await vscode.commands.executeCommand(shown.command.command, ...shown.command.arguments);
    const ir = () => vscode.workspace.textDocuments.find((d) => d.uri.scheme === "kernel-ls-ir");
    await until(() => (ir()?.getText() ?? "").includes("tt.func"), 20_000);
    out.ir = ir()?.getText() ?? "";
  }
}

exports.run = async () => {
  const out = {};
  try {
    const uri = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, "kernels.py");
    const document = await vscode.workspace.openTextDocument(uri);
    const editor = await vscode.window.showTextDocument(document);
    await until(() => codes(uri).length >= 2, 60_000);
    out.before = codes(uri);
    const target = document.lineAt(4).range;
    await editor.edit((edit) => edit.replace(target, "SCALE = tl.constexpr(0.5)"));
    await until(() => codes(uri).length === 1, 30_000);
    out.after = codes(uri);
    out.dirty = document.isDirty;
    await features(uri, document, out);
    out.version = vscode.version;
    out.commands = (await vscode.commands.getCommands(true)).filter((c) => c.startsWith("kernelLs."));
    await new Promise((resolve) => setTimeout(resolve, 1500)); // for the picture
  } catch (error) {
    out.error = String(error?.stack ?? error);
  }
  fs.writeFileSync(process.env.KERNEL_LS_TEST_RESULT, JSON.stringify(out));
};
