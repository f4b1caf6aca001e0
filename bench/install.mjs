import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** Installs what the JavaScript core needs, once. */
export function install() {
  if (existsSync(join(HERE, "node_modules", "better-sqlite3"))) return;
  console.log("Installing the dependencies of the JavaScript core; better-sqlite3 may compile for minutes.");
  execFileSync("npm", ["ci", "--prefix", HERE, "--no-audit", "--no-fund"], { stdio: "inherit", shell: process.platform === "win32" });
}
