// The status item: what the server's worker is doing, from the notification kernelLs/status.
import * as vscode from "vscode";

export interface ServerStatus {
  state: string;
  message: string;
}

const ICONS: Record<string, string> = {
  starting: "$(loading~spin)",
  ready: "$(check)",
  busy: "$(sync~spin)",
  restarting: "$(sync~spin)",
  "no-triton": "$(warning)",
  failed: "$(error)",
  stopped: "$(circle-slash)",
};

export class StatusItem implements vscode.Disposable {
  private readonly item: vscode.LanguageStatusItem;

  constructor() {
    this.item = vscode.languages.createLanguageStatusItem("kernelLs.status", { language: "python" });
    this.item.name = "kernel_ls";
    this.item.command = { command: "kernelLs.showOutput", title: "Show output" };
    this.show({ state: "starting", message: "starting" });
  }

  show(status: ServerStatus): void {
    const icon = ICONS[status.state] ?? "$(question)";
    this.item.text = `${icon} kernel_ls: ${status.state}`;
    this.item.detail = status.message;
    this.item.busy = status.state === "starting" || status.state === "restarting";
    this.item.severity =
      status.state === "failed"
        ? vscode.LanguageStatusSeverity.Error
        : status.state === "no-triton" || status.state === "stopped"
          ? vscode.LanguageStatusSeverity.Warning
          : vscode.LanguageStatusSeverity.Information;
  }

  dispose(): void {
    this.item.dispose();
  }
}
