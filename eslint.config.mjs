import js from "@eslint/js";
import tseslint from "typescript-eslint";

const nodeGlobals = Object.fromEntries(["console", "process", "URL", "setImmediate", "setTimeout", "clearTimeout"].map((name) => [name, "readonly"]));

export default tseslint.config(
  { ignores: ["dist/", "target/", "artifacts/", "demo-data/", "bench/", "fixtures/", "index.d.ts", "__test__/consumer/", "conformance/.cache/"] },
  js.configs.recommended,
  {
    files: ["**/*.ts", "**/*.mts", "**/*.cts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: ["tsconfig.json", "__test__/tsconfig.json", "conformance/tsconfig.json"], tsconfigRootDir: import.meta.dirname } },
    rules: {
      // `Array<{ … }>` reads better where the element is more than a name, as in the public types.
      "@typescript-eslint/array-type": "off",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      // The arguments of exported functions come from JavaScript as well: their checks are not unnecessary.
      "@typescript-eslint/no-unnecessary-condition": "off",
      // For what a check before it has made certain.
      "@typescript-eslint/no-non-null-assertion": "off",
      // Says what a caller gets: `checkFunction<() => void>(value, path)`.
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
    },
  },
  // A CommonJS module that must load the addon at its first use has nothing but `require` for it.
  { files: ["lib/native.ts", "**/*.cts"], rules: { "@typescript-eslint/no-require-imports": "off" } },
  {
    files: ["**/*.mjs"],
    languageOptions: { globals: nodeGlobals },
    rules: { "no-unused-vars": ["error", { varsIgnorePattern: "^_" }] },
  },
);
