import { describe, expect, it } from "vitest";

import { exampleText, parsedExample, withDeclared } from "@/features/prompts/declared";
import { axisOf, formatP, measureOf, panelsOf, placeOf, testOf, usualPair, verdictOf } from "@/features/prompts/measures";
import { armsOf, percents, sharesProblem, spelled, withShare } from "@/features/prompts/split";
import type { PromptCompared, PromptFigures } from "@/lib/api/types";

const figures = (version: number, more: Partial<PromptFigures> = {}): PromptFigures => ({
  version,
  calls: 10,
  is_cut: false,
  failures: 1,
  failure_low: 0.01,
  failure_high: 0.4,
  first_at: null,
  latest_at: null,
  latency_s: { n: 9, mean: 1.2, low: 1, high: 1.4 },
  latency_p50_s: 1.1,
  latency_p95_s: 2.5,
  input_tokens: null,
  output_tokens: null,
  cost: null,
  cost_total: null,
  unpriced: 0,
  scores: [],
  ...more,
});

const row = (more: Partial<PromptCompared>): PromptCompared => ({ measure: "latency", a: 1, b: 2, n_a: 5, n_b: 5, test: { name: "welch", p: 0.01, difference: 1, low: 0.5, high: 1.5 }, p_adjusted: 0.03, ...more });

describe("panels", () => {
  it("leave out versions that were never called", () => {
    const [calls] = panelsOf([figures(3), figures(2, { calls: 0 }), figures(1)]);
    expect(calls!.marks.map((mark) => mark.version)).toEqual([3, 1]);
  });

  it("say an unknown figure as unknown, never as zero", () => {
    const cost = panelsOf([figures(1)]).find((panel) => panel.id === "cost")!;
    expect(cost.marks[0]).toMatchObject({ value: null, n: 0 });
    expect(cost.format(null)).toBe("—");
    expect(cost.note).toBe("No price is known");
  });

  it("tell how many calls have no price beside what the others cost", () => {
    const priced = figures(2, { cost: { n: 5, mean: 0.002, low: 0.001, high: 0.003 }, cost_total: 0.01, unpriced: 5 });
    expect(panelsOf([priced]).find((panel) => panel.id === "cost")!.note).toBe("$0.010 in all · 5 calls without a price");
  });

  it("have one for each score, shares as percentages", () => {
    const scores = [
      { name: "helpful", type: "NUMERIC", n: 3, mean: 0.5, low: 0.2, high: 0.8 },
      { name: "resolved", type: "BOOLEAN", n: 4, mean: 0.75, low: 0.3, high: 0.9 },
    ];
    const found = panelsOf([figures(1, { scores }), figures(2)]).filter((panel) => panel.id.startsWith("score:"));
    expect(found.map((panel) => [panel.title, panel.format(0.75), panel.marks.map((mark) => mark.n)])).toEqual([
      ["helpful", "0.75", [3, 0]],
      ["resolved", "75 %", [4, 0]],
    ]);
  });

  it("begin their axis at zero for bars and around the intervals for dots", () => {
    const [calls, failed] = panelsOf([figures(1)]);
    expect(axisOf(calls!)).toEqual([0, 10]);
    const [from, to] = axisOf(failed!);
    expect(from).toBeLessThan(0.01);
    expect(to).toBeGreaterThan(0.4);
    expect(placeOf(0.4, [0, 0.8])).toBeCloseTo(50);
    expect(placeOf(9, [0, 1])).toBe(100);
  });
});

describe("a comparison", () => {
  it("finds a difference only where the adjusted p says so", () => {
    expect(verdictOf(row({}))).toBe("more");
    expect(verdictOf(row({ test: { name: "welch", p: 0.001, difference: -1, low: -2, high: -0.5 } }))).toBe("less");
    expect(verdictOf(row({ p_adjusted: 0.06 }))).toBe("none");
    expect(verdictOf(row({ test: null, p_adjusted: null }))).toBe("none");
  });

  it("names its measures, tests and p values", () => {
    expect(measureOf(row({})).title).toBe("Latency, mean");
    expect(measureOf(row({ measure: "score:helpful" })).title).toBe("helpful");
    expect(testOf("fisher")).toContain("Fisher");
    expect([formatP(0.0001), formatP(0.0312)]).toEqual(["< 0.001", "0.031"]);
  });

  it("begins with production against the newest", () => {
    expect(usualPair([1, 2, 3], 1)).toEqual([1, 3]);
    expect(usualPair([1, 2, 3], 3)).toEqual([2, 3]);
    expect(usualPair([1, 2], undefined)).toEqual([1, 2]);
    expect(usualPair([1], 1)).toBeNull();
  });
});

describe("a split", () => {
  const arms = [
    { version: 3, weight: 900 },
    { version: 4, weight: 100 },
  ];

  it("is told in percent", () => {
    expect(percents(arms)).toEqual(["90", "10"]);
    expect(spelled([...arms, { version: 5, weight: 500 }])).toBe("v3 60 % · v4 6.7 % · v5 33.3 %");
  });

  it("keeps two shares at a hundred", () => {
    const shares = withShare([{ version: 3, text: "90" }, { version: 4, text: "10" }], 1, "25,5");
    expect(shares.map((share) => share.text)).toEqual(["74.5", "25,5"]);
    expect(sharesProblem(shares)).toBeNull();
    expect(armsOf(shares)).toEqual([{ version: 3, weight: 745 }, { version: 4, weight: 255 }]);
  });

  it("says what is wrong with shares", () => {
    expect(sharesProblem([{ version: 3, text: "90" }, { version: 4, text: "20" }])).toContain("make 110 %");
    expect(sharesProblem([{ version: 3, text: "x" }, { version: 4, text: "20" }])).toContain("0.1 to 99.9");
  });
});

describe("a declared variable", () => {
  it("has an example of its type", () => {
    expect(parsedExample("number", "7")).toEqual({ value: 7 });
    expect(parsedExample("number", "seven")).toBeNull();
    expect(parsedExample("list", "[1]")).toEqual({ value: [1] });
    expect(parsedExample("object", "[1]")).toBeNull();
    expect(parsedExample("messages", '["x"]')).toBeNull();
    expect(parsedExample("boolean", "")).toEqual({ value: undefined });
    expect(exampleText({ a: 1 })).toBe('{"a":1}');
  });

  it("is left out where it says nothing", () => {
    const some = withDeclared({}, "who", { type: "text", example: "Ann" });
    expect(some).toEqual({ who: { type: "text", example: "Ann" } });
    expect(withDeclared(some, "who", { type: "text", description: "" })).toEqual({});
  });
});
