// The implementation is compiled once, as CommonJS. The ES modules re-export it by name, so that a class is the same
// class however it was reached and `instanceof` holds across both.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { require, root } from "./steps.mjs";

const SDK = "@agentclientprotocol/sdk";
const dist = join(root, "dist");

/** Names of the entry points, from the manifest: `index`, `sessions`, … */
export function entryPoints() {
  const { exports } = require("../package.json");
  return Object.keys(exports)
    .filter((path) => path !== "./package.json")
    .map((path) => (path === "." ? "index" : path.slice(2)));
}

export async function writeEntryPoints() {
  mkdirSync(join(dist, "esm"), { recursive: true });
  for (const name of entryPoints()) {
    const isAcp = name === "acp";
    write(`esm/${name}.mjs`, [...(isAcp ? [`export * from "${SDK}";`] : []), reExports(name)]);
    write(`esm/${name}.d.mts`, [...(isAcp ? [`export * from "${SDK}";`] : []), `export * from "../${name}.js";`]);
  }
  await bundleSdk();
  writeSdkTypes(Object.keys(await import(pathToFileURL(sdkFile("acp.js")))));
}

/** Named bindings: an `export *` from CommonJS depends on what Node can guess of its names. */
function reExports(name) {
  const names = Object.keys(require(join(dist, `${name}.js`)));
  return names.length === 0 ? "export {};" : `export { ${names.join(", ")} } from "../${name}.js";`;
}

/** CommonJS cannot load the SDK where `require` of ES modules is off, so there it is part of the package. */
async function bundleSdk() {
  await build({
    stdin: { contents: `export * from "${SDK}"; export * from "./acp.js";`, resolveDir: dist },
    outfile: join(dist, "acp-sdk.js"),
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node20",
    external: ["./acp.js", "zod", "zod/*"],
    logLevel: "warning",
  });
  copyFileSync(join(root, "node_modules", SDK, "LICENSE"), join(dist, "acp-sdk.LICENSE.txt"));
}

/**
 * The types for `require`. A declaration file of CommonJS may name the SDK's types, but not re-export its values with
 * them: TypeScript takes that for a `require` of an ES module. So each value is declared by its type.
 */
function writeSdkTypes(values) {
  const types = typesAmong(new Set(values));
  write("acp-sdk.d.ts", [
    `import type * as sdk from "${SDK}" with { "resolution-mode": "import" };`,
    `export type * from "./sdk.js";`,
    `export * from "./acp.js";`,
    ...values.map((name) => `export declare const ${name}: typeof sdk.${name};`),
    ...types.map((name) => `export type ${name} = sdk.${name};`),
  ]);
}

/** Which of the SDK's values (classes, guards) are types too. */
function typesAmong(values) {
  const file = sdkFile("acp.d.ts");
  const program = ts.createProgram([file], {
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
    target: ts.ScriptTarget.ES2022,
    types: [],
  });
  const checker = program.getTypeChecker();
  return checker
    .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)))
    .filter((symbol) => values.has(symbol.name))
    .filter((symbol) => {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      if (target.declarations?.some((declaration) => declaration.typeParameters?.length > 0)) {
        throw new Error(`${SDK} exports the generic ${symbol.name}: its type parameters must be repeated here`);
      }
      return (target.flags & ts.SymbolFlags.Type) !== 0;
    })
    .map((symbol) => symbol.name);
}

function sdkFile(name) {
  return join(root, "node_modules", SDK, "dist", "v1", "stable", name);
}

function write(name, lines) {
  writeFileSync(join(dist, name), `${lines.join("\n")}\n`);
}
