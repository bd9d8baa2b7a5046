// What the editor shows beyond the protocol: code that is not generated, the choice of a specialization, TTIR beside the kernel.
import * as vscode from "vscode";
import type { LanguageClient, Middleware } from "vscode-languageclient/node";

interface Region {
  range: { start: { line: number; character: number }; end: { line: number; character: number } };
  reason: string;
}

export interface InactiveRegions {
  textDocument: { uri: string; version: number | null };
  regions: Region[];
}

interface Specialization {
  key: string;
  title: string;
  tier: number;
  active: boolean;
  clean: boolean;
  pin: string;
}

interface Ir {
  text: string;
  sourceMap: { rows: [number, number]; uri: string; line: number }[];
  lastGood: boolean;
  message: string;
}

const SCHEME = "kernel-ls-ir";

/** Greys what no specialization in use generates, as an editor greys what `#ifdef` takes away. */
export class InactiveCode implements vscode.Disposable {
  private readonly decoration = vscode.window.createTextEditorDecorationType({ opacity: "0.55", isWholeLine: false });
  private readonly known = new Map<string, Region[]>();
  private readonly subscription = vscode.window.onDidChangeVisibleTextEditors(() => this.show());

  take(message: InactiveRegions): void {
    this.known.set(vscode.Uri.parse(message.textDocument.uri).toString(), message.regions);
    this.show();
  }

  forget(): void {
    this.known.clear();
    this.show();
  }

  private show(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const regions = this.known.get(editor.document.uri.toString()) ?? [];
      editor.setDecorations(
        this.decoration,
        regions.map((region) => ({
          range: new vscode.Range(region.range.start.line, region.range.start.character, region.range.end.line, region.range.end.character),
          hoverMessage: region.reason,
        })),
      );
    }
  }

  dispose(): void {
    this.subscription.dispose();
    this.decoration.dispose();
  }
}

/** Read-only documents with a kernel's IR, which follow its edits. */
export class IrDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  private readonly maps = new Map<string, Ir>();
  private readonly highlight = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor("editor.wordHighlightBackground"),
    isWholeLine: true,
  });
  private readonly selection = vscode.window.onDidChangeTextEditorSelection((event) => this.follow(event.textEditor));
  readonly onDidChange = this.changed.event;

  constructor(private readonly client: () => LanguageClient | undefined) {}

  /** Opens a kernel's IR beside the editor. */
  async open(uri: string, kernel: string, stage: string): Promise<void> {
    const place = vscode.Uri.from({ scheme: SCHEME, path: `/${kernel}.${stage}.mlir`, query: JSON.stringify([uri, kernel, stage]) });
    const document = await vscode.workspace.openTextDocument(place);
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: true });
    this.changed.fire(place);
  }

  /** A check of a document has ended: what is shown of its kernels may be another IR now. */
  refresh(uri: string): void {
    for (const document of vscode.workspace.textDocuments) {
      if (document.uri.scheme === SCHEME && JSON.parse(document.uri.query)[0] === uri) {
        this.changed.fire(document.uri);
      }
    }
  }

  async provideTextDocumentContent(place: vscode.Uri): Promise<string> {
    const [uri, kernel, stage] = JSON.parse(place.query) as [string, string, string];
    const answer = await this.client()?.sendRequest<Ir>("kernelLs/ir", { textDocument: { uri }, kernel, stage });
    if (!answer) {
      return "// the server does not run";
    }
    this.maps.set(place.toString(), answer);
    return answer.text || `// ${answer.message}`;
  }

  /** Marks the rows that the line at the cursor became. */
  private follow(editor: vscode.TextEditor): void {
    const uri = editor.document.uri.toString();
    const line = editor.selection.active.line;
    for (const other of vscode.window.visibleTextEditors) {
      const map = other.document.uri.scheme === SCHEME ? this.maps.get(other.document.uri.toString()) : undefined;
      if (!map || other === editor) {
        continue;
      }
      const rows = map.sourceMap.filter((entry) => entry.line === line && vscode.Uri.parse(entry.uri).toString() === uri);
      const ranges = rows.map((entry) => new vscode.Range(entry.rows[0], 0, entry.rows[0], 0));
      other.setDecorations(this.highlight, ranges);
      const first = ranges[0];
      if (first) {
        other.revealRange(first, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
      }
    }
  }

  dispose(): void {
    this.registration.dispose();
    this.selection.dispose();
    this.highlight.dispose();
    this.changed.dispose();
  }
}

/** Lets the user choose among a kernel's specializations, or pin one above the kernel; sends the choice to the server. */
async function choose(client: LanguageClient, uri: string, kernel: string): Promise<void> {
  const answer = await client.sendRequest<{ kernels: { kernel: string; specializations: Specialization[] }[] }>("kernelLs/specializations", {
    textDocument: { uri },
    kernel,
  });
  const known = answer.kernels[0]?.specializations ?? [];
  const pinButton: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("pin"), tooltip: "Pin it in a comment above the kernel" };
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { key: string; pin: string }>();
  pick.title = `Specialization of ${kernel}`;
  pick.matchOnDescription = true;
  pick.items = [
    ...known.map((one) => ({
      label: `${one.active ? "$(check) " : ""}${one.title}`,
      description: [one.tier === 2 ? "can occur at run time" : "", one.clean ? "" : "has errors"].filter(Boolean).join(", "),
      key: one.key,
      pin: one.pin,
      buttons: [pinButton],
    })),
    { label: "$(discard) The likeliest", key: "default", pin: "" },
  ];
  const run = (key: string) => client.sendRequest("workspace/executeCommand", { command: "kernelLs.selectSpecialization", arguments: [uri, kernel, key] });
  pick.onDidAccept(() => {
    const chosen = pick.selectedItems[0];
    pick.hide();
    if (chosen) {
      void run(chosen.key);
    }
  });
  pick.onDidTriggerItemButton((event) => {
    pick.hide();
    void pinAbove(uri, kernel, event.item.pin);
  });
  pick.onDidHide(() => pick.dispose());
  pick.show();
}

/** Writes the comment that pins a specialization above the decorators of a kernel; the user may change a value in it. */
async function pinAbove(uri: string, kernel: string, comment: string): Promise<void> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri));
  const name = kernel.slice(kernel.lastIndexOf(".") + 1);
  const lines = document.getText().split(/\r?\n/);
  let row = lines.findIndex((line) => new RegExp(`^\\s*def\\s+${name}\\s*\\(`).test(line));
  if (row < 0) {
    return;
  }
  while (row > 0 && !/^\s*$/.test(lines[row - 1] ?? "") && !/^\s*#/.test(lines[row - 1] ?? "")) {
    row -= 1;
  }
  const indentation = /^\s*/.exec(lines[row] ?? "")?.[0] ?? "";
  const editor = await vscode.window.showTextDocument(document);
  await editor.edit((edit) => edit.insert(new vscode.Position(row, 0), `${indentation}${comment}\n`));
  editor.selection = new vscode.Selection(row, 0, row, 0);
}

/** Commands of lenses that are the editor's to run; the server's other commands go on to it. */
export function commandMiddleware(client: () => LanguageClient | undefined, documents: IrDocuments): Middleware {
  return {
    executeCommand: async (command, args: unknown[], next) => {
      const running = client();
      const [uri, kernel, third] = args.map(String);
      if (command === "kernelLs.showIr" && uri && kernel) {
        return documents.open(uri, kernel, third ?? "ttir");
      }
      if (command === "kernelLs.selectSpecialization" && uri && kernel && !third && running) {
        return choose(running, uri, kernel);
      }
      return next(command, args);
    },
  };
}
