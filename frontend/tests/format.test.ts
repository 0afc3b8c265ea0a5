import { describe, expect, it } from "vitest";

import { formatAgo, formatBytes, formatCompact, formatCost, formatCount, formatDuration, formatPercent, formatRate, formatTime, plural, UNKNOWN } from "@/lib/format";

describe("durations", () => {
  it.each([
    [0, "0 ms"],
    [0.0421, "42.1 µs"],
    [1.234, "1.23 ms"],
    [42, "42 ms"],
    [999.4, "999 ms"],
    [999.6, "1.00 s"],
    [1500, "1.50 s"],
    [12_345, "12.3 s"],
    [59_940, "59.9 s"],
    [59_960, "1 min 0 s"],
    [75_000, "1 min 15 s"],
    [3_700_000, "1 h 1 min"],
  ])("%d ms reads %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

  it("shows unknown as a dash, never as 0", () => {
    expect([formatDuration(null), formatCount(undefined), formatRate(null), formatCost(null), formatBytes(null), formatPercent(NaN)]).toEqual(Array(6).fill(UNKNOWN));
  });
});

describe("costs", () => {
  it.each([
    ["0", "$0"],
    ["0.000135000000", "$0.000135"],
    [1.35e-7, "$0.000000135"],
    ["0.0099", "$0.0099"],
    ["0.25", "$0.250"],
    ["0.1234", "$0.123"],
    ["12.5", "$12.50"],
    ["1234.567", "$1,234.57"],
  ])("%s reads %s", (cost, text) => expect(formatCost(cost)).toBe(text));
});

describe("counts and rates", () => {
  it("groups digits and shortens where room is short", () => {
    expect(formatCount(1234567)).toBe("1,234,567");
    expect(formatCompact(9999)).toBe("9,999");
    expect(formatCompact(12_345)).toBe("12.3k");
    expect(formatCompact(2_500_000)).toBe("2.50M");
  });
  it("keeps 3 significant digits and the unit", () => {
    expect(formatRate(152.34)).toBe("152 tok/s");
    expect(formatRate(4170.2)).toBe("4,170 tok/s");
    expect(formatRate(8.1234)).toBe("8.12 tok/s");
    expect(formatBytes(312_000_000)).toBe("298 MiB");
    expect(formatBytes(0)).toBe("0 B");
    expect(formatPercent(0.12345)).toBe("12.3 %");
  });
  it("agrees in number", () => {
    expect(plural(1, "trace")).toBe("1 trace");
    expect(plural(2000, "trace")).toBe("2,000 traces");
  });
});

describe("times", () => {
  const now = new Date("2026-11-30T15:00:00");
  it("is as short as the distance allows", () => {
    expect(formatTime("2026-11-30T14:03:22", now)).toBe("14:03:22");
    expect(formatTime("2026-11-12T14:03:22", now)).toBe("Nov 12 14:03");
    expect(formatTime("2024-11-12T14:03:22", now)).toBe("Nov 12 2024");
  });
  it("says how long ago", () => {
    const at = (seconds: number) => formatAgo(new Date(now.getTime() - seconds * 1000).toISOString(), now.getTime());
    expect([at(5), at(60), at(7200), at(3 * 86_400)]).toEqual(["just now", "1 min ago", "2 h ago", "3 d ago"]);
    expect(formatAgo(null)).toBe("never");
  });
});
