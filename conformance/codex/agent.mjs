// The Codex that is tested, and where npm puts its program.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const TRIPLES = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
};

const platform = `${process.platform}-${process.arch}`;

export default {
  package: "@openai/codex",
  version: "0.171.0",
  /**
   * The native program. npm's launcher is a Node script that starts it as a child, so that signals would not reach it.
   * @param {string} folder where the package is installed
   * @returns {string}
   */
  command(folder) {
    const triple = TRIPLES[platform];
    if (triple === undefined) throw new Error(`Codex has no program for ${platform}`);
    const launcher = join(folder, "node_modules", "@openai", "codex", "package.json");
    const manifest = createRequire(launcher).resolve(`@openai/codex-${platform}/package.json`);
    return join(dirname(manifest), "vendor", triple, "bin", "codex");
  },
};
