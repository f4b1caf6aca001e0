import { checkRecord, checkString, checkText, expected, invalidOption, toJson } from "./checks.js";
import { lifted } from "./errors.js";
import { Hidden } from "./hidden.js";
import { binding, type NativeCatalog } from "./native.js";

/** USD per million tokens. A price that is not published is null. */
export interface ModelPrice {
  input: number;
  output: number;
  cacheRead: number | null;
  /** Of cache writes, for five minutes where the provider knows several times. */
  cacheWrite: number | null;
  cacheWrite1h: number | null;
  /** Prices above a prompt size in tokens (input, cache reads and cache writes), for all tokens of the call. */
  tiers?: Array<{
    abovePromptTokens: number;
    input: number;
    output: number;
    cacheRead: number | null;
    cacheWrite: number | null;
    cacheWrite1h?: number | null;
  }>;
}

/** A model as one provider sells it. `contextLimit` in tokens; `price` is null where none is published that tokens alone decide. */
export interface CatalogModel {
  providerId: string;
  modelId: string;
  contextLimit: number | null;
  price: ModelPrice | null;
}

export interface ModelCatalog {
  /** Date of the price data. */
  readonly asOf: string;
  /**
   * The model that an agent calls `modelId`, in the spellings that agents use: with a date, a provider or a region, with
   * parameters in brackets or an effort. Null where the catalog does not have exactly that model, or that mode of it.
   *
   * A provider that the catalog does not know is taken for a gateway that passes on the maker's prices, or those of the cloud whose
   * way of writing the name has; `null` means the maker, and where none is known, any provider that the host added.
   */
  find(providerId: string | null, modelId: string): CatalogModel | null;
  /** Every model; a new array at each call. */
  list(): CatalogModel[];
  /** A catalog with more or other prices: these models cover those of the same provider and name, and no other. */
  with(models: CatalogModel[]): ModelCatalog;
}

const catalogs = new Hidden<ModelCatalog, () => NativeCatalog>();

class Catalog implements ModelCatalog {
  constructor(native: () => NativeCatalog) {
    catalogs.set(this, native);
  }

  get asOf(): string {
    const native = catalogs.get(this)();
    return lifted(() => native.asOf());
  }

  find(providerId: string | null, modelId: string): CatalogModel | null {
    const provider = providerId === null || providerId === undefined ? null : checkString(providerId, "providerId");
    const model = checkString(modelId, "modelId");
    const native = catalogs.get(this)();
    return JSON.parse(lifted(() => native.find(provider, model))) as CatalogModel | null;
  }

  list(): CatalogModel[] {
    const native = catalogs.get(this)();
    return JSON.parse(lifted(() => native.list())) as CatalogModel[];
  }

  with(models: CatalogModel[]): ModelCatalog {
    if (!Array.isArray(models)) throw invalidOption("models", expected("an array of models", models));
    models.forEach(checkModel);
    const json = toJson(models, "models", invalidOption);
    const native = catalogs.get(this)();
    const extended = lifted(() => native.with(json));
    return new Catalog(() => extended);
  }
}

function checkModel(model: unknown, index: number): void {
  const path = `models[${String(index)}]`;
  const { providerId, modelId, price } = checkRecord(model, path);
  checkText(providerId, `${path}.providerId`);
  checkText(modelId, `${path}.modelId`);
  if (price !== null && price !== undefined) checkPrice(checkRecord(price, `${path}.price`), `${path}.price`);
}

function checkPrice(price: Record<string, unknown>, path: string): void {
  for (const name of ["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h"]) {
    const value = price[name];
    const isPrice = typeof value === "number" && Number.isFinite(value) && value >= 0;
    const mayBeMissing = name.startsWith("cache") && (value === null || value === undefined);
    if (!isPrice && !mayBeMissing) throw invalidOption(`${path}.${name}`, expected("a price in USD per million tokens", value));
  }
  if (price.tiers === undefined) return;
  if (!Array.isArray(price.tiers)) throw invalidOption(`${path}.tiers`, expected("an array", price.tiers));
  price.tiers.forEach((tier: unknown, index) => {
    const tierPath = `${path}.tiers[${String(index)}]`;
    checkPrice({ ...checkRecord(tier, tierPath), tiers: undefined }, tierPath);
  });
}

let published: NativeCatalog | undefined;

/** The published prices that came with this version of the package. */
export const modelCatalog: ModelCatalog = new Catalog(() => {
  const { NativeCatalog } = binding();
  return (published ??= lifted(() => new NativeCatalog()));
});

/** @internal What native code knows a catalog by. */
export function nativeCatalog(catalog: ModelCatalog, path: string): NativeCatalog {
  const native = catalogs.find(catalog);
  if (native === undefined) throw invalidOption(path, "must be modelCatalog, or made by its method `with`");
  return native();
}
