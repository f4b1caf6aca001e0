// Writes the price catalog that the core embeds, crates/grammar/data/catalog.json, from the published price list
// `@pydantic/genai-prices`. With --check it writes nothing and fails where the file is not what it would write.
import { findProvider } from "@pydantic/genai-prices";
import { execFileSync } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main, node, root, StepError, tool } from "./steps.mjs";

const LIST = "@pydantic/genai-prices";
export const catalogPath = join(root, "crates", "grammar", "data", "catalog.json");

/** The release of the list and the day on which it came out: prices are those in force on that day. */
const RELEASE = { version: "0.1.8", date: "2026-09-23" };

/** Charges that counts of input and output tokens do not cover: at the price of text, such a model would look too cheap. */
const BEYOND_TEXT = /^(?:requests_|output_(?!mtok$))/;

export function generateCatalog() {
  const { version } = JSON.parse(readFileSync(join(root, "node_modules", LIST, "package.json"), "utf8"));
  if (version !== RELEASE.version) throw new Error(`the installed list is ${version}: name it and its day in RELEASE`);
  const providers = providerIds().map((id) => findProvider({ providerId: id }));
  const lines = providers.map((provider) => {
    const head = JSON.stringify({ id: provider.id, fallbacks: provider.fallback_model_providers ?? [] }).slice(0, -1);
    return `${head},"models":[\n${models(provider).map((model) => JSON.stringify(model)).join(",\n")}\n]}`;
  });
  return `{"source":"${LIST} ${version}","asOf":"${RELEASE.date}","providers":[\n${lines.join(",\n")}\n]}\n`;
}

/** The package offers no enumeration of its providers; its program prints each model as `provider:model: name`. */
function providerIds() {
  const folder = mkdtempSync(join(tmpdir(), "chat-native-catalog-"));
  try {
    // Into a file: the program ends without waiting for a pipe to be read.
    const path = join(folder, "list.txt");
    const [program, args] = node(tool(LIST, "genai-prices"), "list");
    execFileSync(program, args, { stdio: ["ignore", openSync(path, "w"), "inherit"] });
    const ids = [...readFileSync(path, "utf8").matchAll(/^ +([^\s:]+):/gm)].map(([, id]) => id);
    return [...new Set(ids)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What has no price for output is no chat model. */
function models(provider) {
  const names = namesOf(provider.models);
  return provider.models
    .map((model) => ({ model, prices: pricesOf(model) }))
    .filter(({ prices }) => prices === null || prices.output_mtok !== undefined || Object.keys(prices).length === 0)
    .map(({ model, prices }) => ({
      id: model.id,
      names: names.get(model) ?? [],
      contextLimit: model.context_window ?? null,
      price: prices === null ? null : price(prices),
    }));
}

/** The prices in force on the day of the release; null where they depend on the time of day. */
function pricesOf({ prices }) {
  if (!Array.isArray(prices)) return prices;
  if (prices.some(({ constraint }) => constraint?.type === "time_of_date")) return null;
  return prices.findLast(({ constraint }) => constraint === undefined || constraint.start_date <= RELEASE.date)?.prices ?? null;
}

function price(prices) {
  if (prices.input_mtok === undefined || Object.keys(prices).some((key) => BEYOND_TEXT.test(key))) return null;
  const tierStarts = new Set(Object.values(prices).flatMap((value) => value?.tiers?.map(({ start }) => start) ?? []));
  const tiers = [...tierStarts].sort((a, b) => a - b).map((start) => ({ abovePromptTokens: start, ...row(prices, start) }));
  return { ...row(prices, -1), ...(tiers.length > 0 && { tiers }) };
}

function row(prices, promptTokens) {
  const at = (key) => {
    const value = prices[key];
    if (typeof value !== "object") return value ?? null;
    return value.tiers.filter(({ start }) => start <= promptTokens).sort((a, b) => b.start - a.start)[0]?.price ?? value.base;
  };
  return {
    input: at("input_mtok"),
    output: at("output_mtok"),
    cacheRead: at("cache_read_mtok"),
    cacheWrite: at("cache_write_mtok"),
    cacheWrite1h: at("cache_write_1h_mtok"),
  };
}

/**
 * The names under which a model is known beside its id, from the list's rules. A rule such as "starts with" is taken as the
 * exact name only: by prefix, `claude-sonnet-5-5` would cost what `claude-sonnet-5` does.
 */
function namesOf(list) {
  const owners = new Map();
  const claim = (name, model) => {
    const cleaned = name.toLowerCase().replace(/[-@:]+$/, "");
    if (cleaned !== "" && !owners.has(cleaned)) owners.set(cleaned, model);
  };
  for (const model of list) claim(model.id, model);
  for (const exact of [true, false]) {
    for (const model of list) for (const name of literals(model.match, exact)) claim(name, model);
  }
  const names = new Map();
  for (const [name, model] of owners) {
    if (name !== model.id.toLowerCase()) names.set(model, [...(names.get(model) ?? []), name]);
  }
  return names;
}

function literals(rule, exact) {
  const nested = rule.or ?? rule.and;
  if (nested !== undefined) return nested.flatMap((part) => literals(part, exact));
  const literal = exact ? rule.equals : (rule.starts_with ?? rule.ends_with ?? rule.contains);
  return literal === undefined ? [] : [literal];
}

await main(import.meta.url, async () => {
  const text = generateCatalog();
  if (!process.argv.includes("--check")) {
    writeFileSync(catalogPath, text);
  } else if (readFileSync(catalogPath, "utf8") !== text) {
    throw new StepError("compare the catalog with the price list", 1);
  }
});
