// The Claude Code that is tested, and where npm puts its program.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const platform = `${process.platform}-${process.arch}`;

export default {
  package: "@anthropic-ai/claude-code",
  // An exact one: without it, npm under Node 20 takes an old version in silence.
  version: process.env.CONFORMANCE_CLAUDE_CODE_VERSION ?? "2.1.332",
  /**
   * The native program of the platform's package. That of the package itself is made by a script, which is not run here.
   * @param {string} folder where the package is installed
   * @returns {string}
   */
  command(folder) {
    const launcher = join(folder, "node_modules", "@anthropic-ai", "claude-code", "package.json");
    const manifest = createRequire(launcher).resolve(`@anthropic-ai/claude-code-${platform}/package.json`);
    return join(dirname(manifest), process.platform === "win32" ? "claude.exe" : "claude");
  },
};
