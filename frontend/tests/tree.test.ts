import { describe, expect, it } from "vitest";

import type { Observation } from "@/lib/api/types";
import { axisOf, flatten } from "@/lib/tree";

const observation = (id: string, parent: string | null, startMs: number, durationMs: number, changes: Partial<Observation> = {}): Observation => ({
  id, parent_id: parent, type: "span", name: id, started_at: new Date(Date.UTC(2026, 0, 1) + startMs).toISOString(), ended_at: "", duration_ms: durationMs, level: "DEFAULT", status: "ok",
  status_message: null, model: null, model_parameters: {}, input: null, output: null, metadata: {}, usage: null, cost: null, ttft_ms: null, tokens_per_second: null, prompt: null,
  attributes: {}, events: [], scope: null, ...changes,
});
const NONE = new Set<string>();

describe("flatten", () => {
  const all = [observation("decode", "gen", 30, 70), observation("root", null, 0, 100), observation("gen", "root", 10, 90, { ttft_ms: 20 }), observation("queue", "gen", 10, 5)];

  it("puts children under their parents, oldest first", () => {
    expect(flatten(all, NONE).map((r) => [r.observation.id, r.depth])).toEqual([["root", 0], ["gen", 1], ["queue", 2], ["decode", 2]]);
  });
  it("counts what a closed branch hides", () => {
    const rows = flatten(all, new Set(["root"]));
    expect(rows.map((r) => [r.observation.id, r.expanded, r.childCount])).toEqual([["root", false, 3]]);
  });
  it("places bars and first tokens on one axis", () => {
    const gen = flatten(all, NONE)[1]!;
    expect([gen.start, gen.width, gen.firstToken]).toEqual([0.1, 0.9, expect.closeTo(0.3)]);
  });
  it("shows spans whose parent never came, and circles, instead of losing them", () => {
    const odd = [observation("orphan", "gone", 0, 1), observation("a", "b", 1, 1), observation("b", "a", 2, 1), observation("self", "self", 3, 1)];
    expect(flatten(odd, NONE).map((r) => r.observation.id)).toEqual(["orphan", "a", "b", "self"]);
  });
  it("orders by microseconds", () => {
    const at = (id: string, fraction: string) => observation(id, null, 0, 1, { started_at: `2026-01-01T00:00:00.${fraction}Z` });
    expect(flatten([at("late", "000900"), at("early", "000100")], NONE).map((r) => r.observation.id)).toEqual(["early", "late"]);
  });
  it("has an axis without observations", () => expect(axisOf([])).toEqual({ startMs: 0, totalMs: 1 }));
});
