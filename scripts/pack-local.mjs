// Installable tarballs of the main package and of this machine's platform package, in artifacts/. With --no-build of what
// was built before.
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildAddon, buildFacade } from "./build.mjs";
import { ensureInstalled, main, require, root, run, StepError } from "./steps.mjs";

const artifacts = join(root, "artifacts");
const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));

/** The tarball's path. The published manifest has what users need, and the platform packages as optional dependencies. */
export async function packMain() {
  const { devDependencies: _dev, scripts: _scripts, napi: _napi, ...manifest } = readJson(join(root, "package.json"));
  const platforms = new Set([...readdirSync(join(root, "npm")), platformName()]);
  manifest.optionalDependencies = Object.fromEntries([...platforms].sort().map((platform) => [`${manifest.name}-${platform}`, manifest.version]));
  return pack(manifest, (folder) => {
    cpSync(join(root, "dist"), join(folder, "dist"), { recursive: true });
    for (const name of ["README.md", "LICENSE"]) {
      if (existsSync(join(root, name))) copyFileSync(join(root, name), join(folder, name));
    }
  });
}

export async function packPlatform() {
  const platform = platformName();
  const binary = `chat-native.${platform}.node`;
  return pack(platformManifest(platform, binary), (folder) => {
    copyFileSync(join(root, binary), join(folder, binary));
    const readme = join(root, "npm", platform, "README.md");
    if (existsSync(readme)) copyFileSync(readme, join(folder, "README.md"));
  });
}

/** That of npm/ where releases are built for the platform, else one for a machine of its own kind. */
function platformManifest(platform, binary) {
  const path = join(root, "npm", platform, "package.json");
  if (existsSync(path)) return readJson(path);
  const { name, version, license, engines } = readJson(join(root, "package.json"));
  const { platform: os, arch: cpu } = process;
  return { name: `${name}-${platform}`, version, license, main: binary, files: [binary], os: [os], cpu: [cpu], engines };
}

/** The one rule for the name is the loader's. */
function platformName() {
  return require("../dist/native.js").platformName();
}

async function pack(manifest, fill) {
  mkdirSync(artifacts, { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), "chat-native-pack-"));
  try {
    writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    fill(folder);
    const { code } = await run("npm", ["pack", "--silent", "--pack-destination", artifacts], { cwd: folder, capture: true });
    if (code !== 0) throw new StepError(`pack ${manifest.name}`, code);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return join(artifacts, `${manifest.name.replace("@", "").replace("/", "-")}-${manifest.version}.tgz`);
}

await main(import.meta.url, async () => {
  await ensureInstalled();
  if (!process.argv.includes("--no-build")) {
    await buildAddon();
    await buildFacade();
  }
  const tarballs = [await packMain(), await packPlatform()];
  console.log(`\npacked:\n  ${tarballs.join("\n  ")}`);
});
