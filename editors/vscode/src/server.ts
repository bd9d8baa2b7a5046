// Which command starts the server, and why: the first that is there.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as vscode from "vscode";

const run = promisify(execFile);

export interface ServerCommand {
  command: string;
  args: string[];
  /** Where the choice came from, for the status item and the log. */
  source: string;
}

/** The interpreter the user chose for the folder in the Python extension, if that extension is there. */
export async function selectedInterpreter(resource?: vscode.Uri): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension("ms-python.python");
  if (!extension) {
    return undefined;
  }
  const api = extension.isActive ? extension.exports : await extension.activate();
  return api?.environments?.getActiveEnvironmentPath?.(resource)?.path;
}

async function answers(command: string, args: string[]): Promise<boolean> {
  try {
    await run(command, [...args, "--version"], { timeout: 15_000 });
    return true;
  } catch {
    return false;
  }
}

/** The server command, or undefined where there is none; the caller then tells the user what to install. */
export async function findServer(resource?: vscode.Uri): Promise<ServerCommand | undefined> {
  const configured = vscode.workspace.getConfiguration("kernelLs", resource).get<string[]>("serverCommand") ?? [];
  if (configured.length > 0) {
    return { command: configured[0], args: configured.slice(1), source: "the setting kernelLs.serverCommand" };
  }
  if (await answers("kernel-ls", [])) {
    return { command: "kernel-ls", args: ["server"], source: "kernel-ls on the PATH" };
  }
  const python = await selectedInterpreter(resource);
  if (python && (await answers(python, ["-m", "kernel_ls"]))) {
    return { command: python, args: ["-m", "kernel_ls", "server"], source: "the selected Python interpreter" };
  }
  return undefined;
}
