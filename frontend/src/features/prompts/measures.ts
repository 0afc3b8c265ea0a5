/** What versions did, as the panels of the Measures tab show it. */

import type { PromptCompared, PromptFigures, PromptMean } from "@/lib/api/types";
import { formatCost, formatCount, formatDuration, formatPercent } from "@/lib/format";

/** A version in a panel: a dot with its interval on a shared axis, or a bar from zero. */
export interface Mark {
  version: number;
  value: number | null;
  low: number | null;
  high: number | null;
  n: number;
}

export interface Panel {
  id: string;
  title: string;
  /** What the figure is, on hover. */
  meaning: string;
  format: (value: number | null) => string;
  marks: Mark[];
  kind: "bar" | "dot" | "range";
  note?: string;
}

const seconds = (value: number | null) => formatDuration(value === null ? null : value * 1000);
const plain = (value: number | null) => (value === null ? "—" : String(Number(value.toPrecision(3))));

const ofMean = (figures: readonly PromptFigures[], mean: (of: PromptFigures) => PromptMean | null): Mark[] =>
  figures.map((of) => {
    const found = mean(of);
    return { version: of.version, value: found?.mean ?? null, low: found?.low ?? null, high: found?.high ?? null, n: found?.n ?? 0 };
  });

/** One panel a measure, of the versions that were called. */
export function panelsOf(all: readonly PromptFigures[]): Panel[] {
  const figures = all.filter((of) => of.calls > 0);
  const unpriced = figures.reduce((sum, of) => sum + of.unpriced, 0);
  const total = figures.reduce((sum, of) => sum + (of.cost_total ?? 0), 0);
  const priced = figures.some((of) => of.cost !== null);
  return [
    {
      id: "calls",
      title: "Calls",
      meaning: "Calls that name this version; of each version the newest 20,000 are looked at",
      format: formatCount,
      kind: "bar",
      marks: figures.map((of) => ({ version: of.version, value: of.calls, low: null, high: null, n: of.calls })),
    },
    {
      id: "failures",
      title: "Failed",
      meaning: "The share of calls that ended with an error, with Wilson’s 95 % interval",
      format: formatPercent,
      kind: "dot",
      marks: figures.map((of) => ({ version: of.version, value: of.failures / of.calls, low: of.failure_low, high: of.failure_high, n: of.calls })),
    },
    {
      id: "latency",
      title: "Latency, p50 to p95",
      meaning: "Half of the answers took less than the first figure, 95 % less than the second; without what failed",
      format: seconds,
      kind: "range",
      marks: figures.map((of) => ({ version: of.version, value: of.latency_p50_s, low: of.latency_p50_s, high: of.latency_p95_s, n: of.latency_s?.n ?? 0 })),
    },
    { id: "output", title: "Output tokens a call", meaning: "Mean with its 95 % interval", format: plain, kind: "dot", marks: ofMean(figures, (of) => of.output_tokens) },
    { id: "input", title: "Input tokens a call", meaning: "Mean with its 95 % interval", format: plain, kind: "dot", marks: ofMean(figures, (of) => of.input_tokens) },
    {
      id: "cost",
      title: "Cost a call",
      meaning: "Mean of the calls with a known price, with its 95 % interval",
      format: (value) => formatCost(value === null ? null : value.toPrecision(3)),
      kind: "dot",
      marks: ofMean(figures, (of) => of.cost),
      note: [priced ? `${formatCost(total.toPrecision(3))} in all` : "No price is known", unpriced > 0 && priced ? `${formatCount(unpriced)} calls without a price` : ""].filter(Boolean).join(" · "),
    },
    ...scorePanels(figures),
  ];
}

function scorePanels(figures: readonly PromptFigures[]): Panel[] {
  const names = [...new Set(figures.flatMap((of) => of.scores.map((score) => score.name)))].sort();
  return names.map((name) => {
    const isShare = figures.some((of) => of.scores.some((score) => score.name === name && score.type === "BOOLEAN"));
    return {
      id: `score:${name}`,
      title: name,
      meaning: isShare ? "Score: the share of true, with Wilson’s 95 % interval" : "Score: the mean with its 95 % interval",
      format: isShare ? formatPercent : plain,
      kind: "dot" as const,
      marks: ofMean(figures, (of) => of.scores.find((score) => score.name === name) ?? null),
    };
  });
}

/** Where a panel's axis begins and ends: from zero for bars, else around all intervals. */
export function axisOf({ kind, marks }: Panel): [number, number] {
  const values = marks.flatMap(({ value, low, high }) => [value, low, high]).filter((value): value is number => value !== null);
  if (values.length === 0) return [0, 1];
  const top = Math.max(...values);
  if (kind !== "dot") return [0, top || 1];
  const bottom = Math.min(...values);
  const room = (top - bottom) * 0.06 || Math.abs(top) * 0.1 || 1;
  return [bottom - room, top + room];
}

/** Where a value stands on the axis, in percent. */
export const placeOf = (value: number, [from, to]: [number, number]): number => Math.min(100, Math.max(0, ((value - from) / (to - from)) * 100));

const MEASURES: Record<string, { title: string; format: (value: number | null) => string }> = {
  failures: { title: "Failed", format: formatPercent },
  latency: { title: "Latency, mean", format: seconds },
  input_tokens: { title: "Input tokens", format: plain },
  output_tokens: { title: "Output tokens", format: plain },
  cost: { title: "Cost a call", format: (value) => formatCost(value === null ? null : value.toPrecision(2)) },
};

export const measureOf = (row: PromptCompared): { title: string; format: (value: number | null) => string } => {
  const known = MEASURES[row.measure];
  if (known) return known;
  const isShare = row.test !== null && row.test.name !== "welch";
  return { title: row.measure.replace(/^score:/, ""), format: isShare ? formatPercent : plain };
};

/** A difference with its sign; that of two shares is in points of percent, not in percent of anything. */
export function signed(format: (value: number | null) => string, value: number): string {
  const text = format(Math.abs(value)).replace("%", "points");
  return value > 0 ? `+${text}` : value < 0 ? `−${text}` : text;
}

const TESTS: Record<string, string> = {
  welch: "Welch’s t test of two means",
  "two proportions": "z test of two shares",
  fisher: "Fisher’s exact test: counts are small",
};

export const testOf = (name: string): string => TESTS[name] ?? name;

export const formatP = (p: number): string => (p < 0.001 ? "< 0.001" : String(Number(p.toPrecision(2))));

/** What a difference says: nothing that chance would not, or which way it goes. */
export function verdictOf({ test, p_adjusted: p }: PromptCompared): "none" | "less" | "more" {
  if (!test || p === null || p >= 0.05) return "none";
  return test.difference < 0 ? "less" : "more";
}

/** The two versions to begin with: production and the newest that was called besides it. */
export function usualPair(called: readonly number[], production: number | undefined): [number, number] | null {
  if (called.length < 2) return null;
  const [newest, before] = [...called].sort((x, y) => y - x) as [number, number];
  if (production === undefined || !called.includes(production) || production === newest) return [before, newest];
  return [production, newest];
}
