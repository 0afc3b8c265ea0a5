import { describe, expect, it } from "vitest";

import type { TraceRow } from "@/lib/api/types";
import { decodeFilters, encodeFilters, hasFilters, matches, mergeRows, OBSERVATION_FIELDS, parseSearch, toObservationQuery, toQuery, withField, type TraceFilters } from "@/lib/filters";

const decode = (search: string) => decodeFilters(new URLSearchParams(search));
const NOW = Date.parse("2026-11-30T15:00:00Z");

const row = (changes: Partial<TraceRow>): TraceRow => ({
  id: "a", name: "chat", started_at: "2026-11-30T14:59:00Z", duration_ms: 1, status: "ok", input_preview: null, output_preview: null, models: ["smol"],
  observation_count: 1, error_count: 0, input_tokens: 0, output_tokens: 0, total_tokens: 0, unpriced_count: 0, release: null, version: null, cost: null, ttft_ms: null, tokens_per_second: null,
  user_id: null, session_id: null, tags: ["x"], environment: "default", prompts: [], ...changes,
});

describe("the address", () => {
  it.each(["", "range=7d", "q=time+out&model=smol&status=error", "from=2026-11-01T00%3A00%3A00.000Z&to=2026-11-02T00%3A00%3A00.000Z&tag=x"])("%s comes back as it was", (search) => {
    expect(encodeFilters(decode(search)).toString()).toBe(search);
  });
  it("falls back where it is broken", () => {
    expect(decode("range=9y&from=yesterday").range).toBe("24h");
    expect(decode("from=2026-11-01T00:00:00Z").from).toBeNull();
  });
  it("asks the server for moments", () => {
    const query = toQuery(decode("range=1h&model=smol"), NOW);
    expect(query.get("from")).toBe("2026-11-30T14:00:00.000Z");
    expect(query.get("to")).toBeNull();
    expect(query.get("range")).toBeNull();
    expect(query.get("model")).toBe("smol");
  });
});

describe("the search box", () => {
  it("takes field:value out of plain words", () => {
    expect(parseSearch('timeout model:smol name:"chat completion" in prod')).toEqual({ q: "timeout in prod", fields: { model: "smol", name: "chat completion" } });
  });
  it("leaves unknown fields and addresses alone", () => {
    expect(parseSearch("http://x foo:bar")).toEqual({ q: "http://x foo:bar", fields: {} });
  });
  it("sets and drops one field", () => {
    const filters = withField(decode("model=smol"), "status", "error");
    expect(filters.fields).toEqual({ model: "smol", status: "error" });
    expect(withField(filters, "model", null).fields).toEqual({ status: "error" });
    expect(hasFilters(decode(""))).toBe(false);
  });
});

describe("live rows", () => {
  const fits = (search: string, changes: Partial<TraceRow> = {}) => matches(row(changes), decode(search) satisfies TraceFilters, NOW);
  it("must pass every filter", () => {
    expect(fits("model=smol&tag=x&status=ok")).toBe(true);
    expect(fits("model=other")).toBe(false);
    expect(fits("status=error")).toBe(false);
    expect(fits("status=error", { status: "error" })).toBe(true);
    expect(fits("range=15m", { started_at: "2026-11-30T14:00:00Z" })).toBe(false);
    expect(fits("from=2026-11-01T00:00:00Z&to=2026-11-02T00:00:00Z")).toBe(false);
  });
  it("replace the row they change and keep the order", () => {
    const list = [row({ id: "b", started_at: "2026-11-30T14:59:30Z" }), row({ id: "a" })];
    const merged = mergeRows(list, [row({ id: "c", started_at: "2026-11-30T14:59:45Z" }), row({ id: "a", name: "changed" })]);
    expect(merged.map((r) => [r.id, r.name])).toEqual([["c", "chat"], ["b", "chat"], ["a", "changed"]]);
  });
});

describe("what must not be", () => {
  it("is written with a sign and asked as a condition", () => {
    const filters = decode("model=!smol&status=error&user=u1");
    const query = toQuery(filters, NOW);
    expect(query.get("model")).toBeNull();
    expect(query.get("status")).toBe("error");
    expect(JSON.parse(query.get("filter")!)).toEqual([{ type: "arrayOptions", column: "models", operator: "none of", value: ["smol"] }]);
    expect(matches(row({ status: "error", user_id: "u1" }), filters, NOW)).toBe(false);
    expect(matches(row({ status: "error", user_id: "u1", models: ["other"] }), filters, NOW)).toBe(true);
  });
  it("is typed with a minus", () => {
    expect(parseSearch("time -model:smol out")).toEqual({ q: "time out", fields: { model: "!smol" } });
  });
  it("and what must be are conditions of observations", () => {
    const query = toObservationQuery(decodeFilters(new URLSearchParams("type=generation&level=!DEBUG&user=u"), OBSERVATION_FIELDS), NOW);
    expect((JSON.parse(query.get("filter")!) as { column: string; operator: string }[]).map((c) => `${c.column} ${c.operator}`)).toEqual(["type any of", "level none of", "userId any of"]);
  });
});
