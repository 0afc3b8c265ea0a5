import { describe, expect, it } from "vitest";

import { alignSteps } from "@/features/compare/align";
import type { Observation } from "@/lib/api/types";
import { flatten } from "@/lib/tree";

const step = (name: string, changes: Partial<Observation> = {}) => ({ id: name, parent_id: null, type: "span", name, started_at: "2026-11-30T14:00:00Z", duration_ms: 1, ttft_ms: null, ...changes }) as Observation;
const names = (a: string[], b: string[]) => alignSteps(a.map((n) => step(n)), b.map((n) => step(n))).map((s) => [s.a?.name, s.b?.name]);

describe("two traces", () => {
  it("keep as many steps beside each other as go in order", () => {
    expect(names(["plan", "search", "answer"], ["plan", "answer", "check"])).toEqual([["plan", "plan"], ["search", undefined], ["answer", "answer"], [undefined, "check"]]);
    expect(names([], ["x"])).toEqual([[undefined, "x"]]);
  });
});

describe("a trace of 30,000", () => {
  it("becomes rows quickly, however deep it is", () => {
    const chain = Array.from({ length: 30_000 }, (_, n) => step(`s${n}`, { parent_id: n === 0 ? null : `s${n - 1}` }));
    const began = performance.now();
    const rows = flatten(chain, new Set());
    expect(performance.now() - began).toBeLessThan(2000);
    expect(rows).toHaveLength(30_000);
    expect(rows[0]!.childCount).toBe(29_999);
    expect(rows.at(-1)!.depth).toBe(29_999);
  });
  it("whose parents point in a circle loses none", () => {
    const rows = flatten([step("a", { parent_id: "b" }), step("b", { parent_id: "a" }), step("c", { parent_id: "a" })], new Set());
    expect(rows.map((r) => r.observation.id).sort()).toEqual(["a", "b", "c"]);
  });
});
