// Starts the server, follows the interpreter and the settings, shows the state. All decisions about kernels are the server's.
import * as vscode from "vscode";
import { LanguageClient, State, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";

import { commandMiddleware, InactiveCode, IrDocuments, type InactiveRegions } from "./features";
import { findServer, selectedInterpreter } from "./server";
import { StatusItem, type ServerStatus } from "./status";

let client: LanguageClient | undefined;
let output: vscode.LogOutputChannel;
let status: StatusItem;
let inactive: InactiveCode;
let documents: IrDocuments;
/** Starts and stops are queued, so that two quick changes of a setting never leave two servers. */
let queue: Promise<void> = Promise.resolve();

export function activate(context: vscode.ExtensionContext): void {
  output = vscode.window.createOutputChannel("kernel_ls", { log: true });
  status = new StatusItem();
  inactive = new InactiveCode();
  documents = new IrDocuments(() => client);
  context.subscriptions.push(
    output,
    status,
    inactive,
    documents,
    vscode.commands.registerCommand("kernelLs.restartServer", restart),
    vscode.commands.registerCommand("kernelLs.showOutput", () => output.show()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("kernelLs.serverCommand")) {
        void restart();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
  );
  void followInterpreter(context);
  void restart();
}

export async function deactivate(): Promise<void> {
  await queue;
  await stop();
}

function restart(): Promise<void> {
  queue = queue.then(stop).then(start, start);
  return queue;
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  inactive.forget();
  if (running && running.state !== State.Stopped) {
    await running.stop(5_000).catch((error) => output.warn(`the server did not stop in time: ${error}`));
  }
  await running?.dispose().catch(() => undefined);
}

async function start(): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const server = await findServer(folder);
  if (!server) {
    status.show({ state: "failed", message: "The server is not installed. Run: pip install kernel-ls" });
    output.error("No server: the setting kernelLs.serverCommand is empty, kernel-ls is not on the PATH, and the selected interpreter has no kernel_ls.");
    return;
  }
  output.info(`starting ${[server.command, ...server.args].join(" ")} (${server.source})`);
  const serverOptions: ServerOptions = { command: server.command, args: server.args };
  const clientOptions: LanguageClientOptions = {
    documentSelector: [
      { scheme: "file", language: "python" },
      { scheme: "untitled", language: "python" },
      { notebook: "*", language: "python" },
    ],
    outputChannel: output,
    initializationOptions: { python: await selectedInterpreter(folder), inactiveRegions: true },
    middleware: commandMiddleware(() => client, documents),
    synchronize: { configurationSection: "kernelLs" },
  };
  const starting = new LanguageClient("kernelLs", "kernel_ls", serverOptions, clientOptions);
  starting.onNotification("kernelLs/status", (message: ServerStatus) => {
    output.debug(`status: ${message.state} ${message.message}`);
    status.show(message);
  });
  starting.onNotification("kernelLs/inactiveRegions", (message: InactiveRegions) => {
    inactive.take(message);
    documents.refresh(message.textDocument.uri);
  });
  client = starting;
  try {
    await starting.start();
  } catch (error) {
    status.show({ state: "failed", message: `The server did not start: ${error}` });
    output.error(`the server did not start: ${error}`);
  }
}

/** Starts the server anew when the user selects another interpreter: its Triton is the one that checks. */
async function followInterpreter(context: vscode.ExtensionContext): Promise<void> {
  const extension = vscode.extensions.getExtension("ms-python.python");
  if (!extension) {
    return;
  }
  const api = extension.isActive ? extension.exports : await extension.activate();
  const changed = api?.environments?.onDidChangeActiveEnvironmentPath;
  if (changed) {
    context.subscriptions.push(changed(() => void restart()));
  }
}
