import { describe, expect, it } from "vitest";

import { fromBuiltin, newPart, newTier, problemOf, requestOf, typedOf, type Price, type TypedPrice } from "@/features/settings/price-form";
import { conditionText, money, perMillion, perToken } from "@/features/settings/price-text";

describe("prices as text", () => {
  it.each([
    ["0.0000025", "2.5"],
    ["0.00001", "10"],
    ["0", "0"],
    ["1", "1000000"],
    ["0.000000000000001", "0.000000001"],
    ["12.3456789", "12345678.9"],
  ])("%s a token is %s a million, both ways", (token, million) => {
    expect([perMillion(token), perToken(million)]).toEqual([million, token]);
  });
  it("reads what people type", () => {
    expect([" 2,50 ", ".5", "3.", "", ".", "-1", "1e3", "two"].map(perToken)).toEqual(["0.0000025", "0.0000005", "0.000003", null, null, null, null, null]);
  });
  it("shows cents", () => expect(["2.5", "10", "0.125"].map(money)).toEqual(["$2.50", "$10", "$0.125"]));
  it("says a tier's condition in words", () => {
    expect(conditionText({ usage_pattern: "^input", operator: "gt", value: 200_000 })).toBe("over 200,000 input tokens");
    expect(conditionText({ usage_pattern: "^(a|b)$", operator: "lte", value: 5 })).toBe("at most 5 tokens of ^(a|b)$");
  });
});

describe("a price that is typed", () => {
  const typed: TypedPrice = { name: " ours ", pattern: "^m", starts: "", parts: [newPart("input", "2.5"), newPart("", "")], tiers: [] };
  it("becomes a request, without empty lines", () => {
    expect(requestOf(typed)).toEqual({ name: "ours", pattern: "^m", prices: { input: "0.0000025" }, tiers: [], starts_at: null });
  });
  it("comes back from what is stored as it was", () => {
    const tier = { ...newTier(), conditions: [{ key: 1, usage_pattern: "^input", operator: "gt" as const, value: "5" }], parts: [newPart("input", "5")] };
    const request = requestOf({ ...typed, tiers: [tier], starts: "2026-06-01T12:30" });
    expect(requestOf(typedOf({ ...request, id: "1", author: "", created_at: "" } as Price))).toEqual(request);
  });
  it("says what is wrong", () => {
    expect(problemOf(typed)).toBeNull();
    expect(problemOf({ ...typed, parts: [newPart("input", "")] })).toContain("no price");
    expect(problemOf({ ...typed, parts: [newPart("", "1")] })).toContain("no part");
    expect(problemOf({ ...typed, parts: [] })).toContain("at least one");
    expect(problemOf({ ...typed, parts: [newPart("input", "1"), newPart(" input", "2")] })).toContain("twice");
    expect(problemOf({ ...typed, tiers: [newTier()] })).not.toBeNull();
  });
  it("begins with the built-in one of a model, found by exactly its name", () => {
    const taken = fromBuiltin("gpt-4.1", { starts_at: null, prices: { input: "0.000002" }, tiers: [] });
    expect(requestOf(taken)).toMatchObject({ name: "gpt-4.1", pattern: "^gpt-4\\.1$", prices: { input: "0.000002" } });
  });
});
