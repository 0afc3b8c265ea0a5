/** A price as it is typed, and the request that it becomes. */

import type { components } from "@/lib/api/schema";

import { perMillion, perToken } from "./price-text";

type Schemas = components["schemas"];
export type Price = Schemas["PriceBody"];
export type PriceFields = Schemas["PriceCreateRequest"];
export type PriceTier = Schemas["PriceTier"];
export type PriceFound = Schemas["PriceFound"];
export type ListPrice = Schemas["ListPrice"];
type Operator = PriceTier["conditions"][number]["operator"];

let nextKey = 1;
const key = () => nextKey++;

export interface TypedPart {
  key: number;
  part: string;
  price: string;
}

export interface TypedTier {
  key: number;
  name: string;
  conditions: { key: number; usage_pattern: string; operator: Operator; value: string }[];
  parts: TypedPart[];
}

export interface TypedPrice {
  name: string;
  pattern: string;
  starts: string; // as the date field has it; empty: always
  parts: TypedPart[];
  tiers: TypedTier[];
}

export const newPart = (part = "", price = ""): TypedPart => ({ key: key(), part, price });
export const newCondition = () => ({ key: key(), usage_pattern: "^input", operator: "gt" as Operator, value: "" });
export const newTier = (): TypedTier => ({ key: key(), name: "", conditions: [newCondition()], parts: [newPart("input"), newPart("output")] });
export const blankPrice = (): TypedPrice => ({ name: "", pattern: "", starts: "", parts: [newPart("input"), newPart("output")], tiers: [] });

const partsOf = (prices: Record<string, string>) => Object.entries(prices).map(([part, price]) => newPart(part, perMillion(price)));

const tiersOf = (tiers: readonly PriceTier[] = []): TypedTier[] =>
  tiers.map((tier) => ({
    key: key(),
    name: tier.name ?? "",
    conditions: tier.conditions.map((condition) => ({ key: key(), ...condition, value: String(condition.value) })),
    parts: partsOf(tier.prices),
  }));

export const typedOf = (price: Price): TypedPrice => ({
  name: price.name,
  pattern: price.pattern,
  starts: price.starts_at ? localText(price.starts_at) : "",
  parts: partsOf(price.prices),
  tiers: tiersOf(price.tiers),
});

/** An own price to start from: what the built-in table says of a model. */
export function fromBuiltin(model: string, builtin: ListPrice | undefined): TypedPrice {
  const pattern = `^${model.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
  if (!builtin) return { ...blankPrice(), name: model, pattern };
  return { name: model, pattern, starts: "", parts: partsOf(builtin.prices), tiers: tiersOf(builtin.tiers) };
}

/** A moment as `datetime-local` writes it, in the reader's zone. */
function localText(iso: string): string {
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const filled = (parts: readonly TypedPart[]) => parts.filter(({ part, price }) => part.trim() !== "" || price.trim() !== "");

/** What is wrong with what is typed, or null. */
export function problemOf(typed: TypedPrice): string | null {
  if (filled(typed.parts).length === 0) return "Give at least one price";
  const lists = [typed.parts, ...typed.tiers.map((tier) => tier.parts)].map(filled);
  const parts = lists.flat();
  const bad = parts.find(({ price }) => perToken(price) === null);
  if (bad) return `“${bad.price}” is no price: write USD for a million tokens, such as 2.5`;
  if (parts.some(({ part }) => part.trim() === "")) return "A price has no part: input, output or another";
  if (lists.some((list) => new Set(list.map(({ part }) => part.trim())).size < list.length)) return "A part is given twice";
  const conditions = typed.tiers.flatMap((tier) => tier.conditions);
  if (conditions.some(({ value }) => !/^\d+$/.test(value.trim()))) return "A tier's number of tokens is a whole number";
  return null;
}

const pricesOf = (parts: readonly TypedPart[]) => Object.fromEntries(filled(parts).map(({ part, price }) => [part.trim(), perToken(price)!]));

export const requestOf = (typed: TypedPrice): PriceFields => ({
  name: typed.name.trim(),
  pattern: typed.pattern,
  prices: pricesOf(typed.parts),
  tiers: typed.tiers.map((tier) => ({
    name: tier.name.trim(),
    conditions: tier.conditions.map(({ usage_pattern, operator, value }) => ({ usage_pattern, operator, value: Number(value) })),
    prices: pricesOf(tier.parts),
  })),
  starts_at: typed.starts ? new Date(typed.starts).toISOString() : null,
});
