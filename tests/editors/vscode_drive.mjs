// node vscode_drive.mjs BASE-URL EXTENSION TEST RESULT WORKSPACE : runs TEST in the real extension host, in a headless browser.
import { createRequire } from "node:module";
import fs from "node:fs";

const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
const [base, extension, test, result, workspace] = process.argv.slice(2);
const remote = (path) => `vscode-remote://${new URL(base).host}${path}`;
const payload = JSON.stringify([
  ["extensionDevelopmentPath", remote(extension)],
  ["extensionTestsPath", remote(test)],
]);
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ],
});
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.on("console", (m) => { if (/fail|error/i.test(m.text())) console.log("[console]", m.text().slice(0, 300)); });
  await page.goto(`${base}/?folder=${workspace}&payload=${encodeURIComponent(payload)}`);
  const deadline = Date.now() + 120_000;
  while (!fs.existsSync(result) && Date.now() < deadline) await page.waitForTimeout(200);
  await page.screenshot({ path: `${result}.png` });
} finally {
  await browser.close();
}
