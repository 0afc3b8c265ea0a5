import { describe, expect, it } from "vitest";

import { daysOf, firstGoes, isOpen, outcomeOf, paceOf, shareOf, whatOf } from "@/features/settings/erasing";
import type { components } from "@/lib/api/schema";

type Erasure = components["schemas"]["ErasureBody"];

const START = "2026-11-01T10:00:00Z";
const running: Erasure = {
  id: "e",
  project: "demo",
  what: "traces",
  user_id: null,
  state: "running",
  trace_count: 40_000,
  trace_total: 100_000,
  before: null,
  author: "Alice",
  created_at: START,
  started_at: START,
  done_at: null,
};

describe("the days that traces are kept", () => {
  it.each([
    ["", null, null],
    [" 30 ", 30, null],
    ["1830", 1830, null],
  ])("%j are %j", (typed, days, problem) => expect(daysOf(typed, 1830)).toEqual({ days, problem }));
  it.each(["0", "-1", "1.5", "1e3", "many"])("are not %s", (typed) => expect(daysOf(typed, 1830).problem).toMatch(/whole days/));
  it("are no more than the server keeps", () => expect(daysOf("91", 90)).toEqual({ days: null, problem: "At most 90 days" }));
  it("are over for the first traces at the midnight after them", () => expect(firstGoes("2026-11-01T10:00:00Z", 30)).toBe("2 Dec 2026"));
});

describe("an erasure", () => {
  it("says how far it is, how fast, and how long it will take", () => expect(paceOf(running, Date.parse(START) + 10_000)).toBe("40 %, 4,000 traces/s, about 15 s left"));
  it("that nobody took waits", () => expect(paceOf({ ...running, state: "queued", started_at: null }, 0)).toBe("Waits for a worker"));
  it("that found nothing to go yet says what it looks through", () => expect(paceOf({ ...running, trace_count: 0 }, Date.parse(START))).toBe("Looking through 100,000 traces"));
  it("with all traces gone is not done yet", () => expect(paceOf({ ...running, trace_count: 100_001 }, Date.parse(START) + 1000)).toMatch(/100,001 traces are gone; clearing up/));
  it("never has a share over one", () => {
    expect(shareOf({ ...running, trace_count: 200_000 })).toBe(1);
    expect(shareOf({ ...running, trace_total: null })).toBe(0);
    expect(shareOf({ ...running, trace_total: 0 })).toBe(0);
  });
  it("that is done says what went and how long that took", () =>
    expect(outcomeOf({ ...running, state: "done", trace_count: 1, done_at: "2026-11-01T10:00:05Z" })).toBe("1 trace erased in 5 seconds"));
  it.each(["failed", "canceled"] as const)("that %s says what went before", (state) => expect(outcomeOf({ ...running, state })).toMatch(/40,000 traces erased before/));
  it("names what goes", () => {
    expect(whatOf({ ...running, what: "user", user_id: "u1" })).toBe("Traces of user u1");
    expect(whatOf({ ...running, what: "retention", before: "2026-11-03T00:00:00Z" })).toBe("Traces from before 3 Nov 2026");
  });
  it("is open until it is done", () => expect(["queued", "running", "done"].map((state) => isOpen({ ...running, state }))).toEqual([true, true, false]));
});
