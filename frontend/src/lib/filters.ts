/** Filters of the traces page <-> address. Plain words search text; `field:value` becomes a filter. */

import type { TraceRow } from "@/lib/api/types";

export const FIELDS = ["model", "status", "name", "user", "session", "tag", "environment"] as const;
export const OBSERVATION_FIELDS = ["type", "level", "model", "name", "user", "session", "environment", "prompt", "promptversion"] as const;
export type Field = (typeof FIELDS)[number] | (typeof OBSERVATION_FIELDS)[number];

export interface TraceFilters {
  range: string; // "1h" … "30d", or "" with from/to
  from: string | null;
  to: string | null;
  q: string;
  /** A value, or one that must not be: `!value`. */
  fields: Partial<Record<Field, string>>;
}

export const isExcluded = (value: string | undefined): boolean => value?.startsWith("!") ?? false;

export const RANGES = { "15m": 15, "1h": 60, "6h": 360, "24h": 1440, "7d": 10_080, "30d": 43_200 } as const;
export const DEFAULT_RANGE = "24h";

const isRange = (value: string | null): value is keyof typeof RANGES => value !== null && value in RANGES;
const isMoment = (value: string | null): value is string => value !== null && !Number.isNaN(Date.parse(value));

export function decodeFilters(params: URLSearchParams, names: readonly Field[] = FIELDS): TraceFilters {
  const from = params.get("from");
  const to = params.get("to");
  const absolute = isMoment(from) && isMoment(to);
  const range = params.get("range");
  const fields: TraceFilters["fields"] = {};
  for (const field of names) {
    const value = params.get(field);
    if (value) fields[field] = value;
  }
  return {
    range: absolute ? "" : isRange(range) ? range : DEFAULT_RANGE,
    from: absolute ? from : null,
    to: absolute ? to : null,
    q: params.get("q") ?? "",
    fields,
  };
}

/** The shortest address that decodes to the same filters. */
export function encodeFilters(filters: TraceFilters): URLSearchParams {
  const params = new URLSearchParams();
  if (filters.from && filters.to) {
    params.set("from", filters.from);
    params.set("to", filters.to);
  } else if (filters.range && filters.range !== DEFAULT_RANGE) {
    params.set("range", filters.range);
  }
  if (filters.q) params.set("q", filters.q);
  for (const [field, value] of Object.entries(filters.fields)) if (value) params.set(field, value);
  return params;
}

type Condition = { type: string; column: string; operator: string; value: unknown };

const options = (column: string, value: string, type = "stringOptions"): Condition => ({
  type,
  column,
  operator: isExcluded(value) ? "none of" : "any of",
  value: [isExcluded(value) ? value.slice(1) : value],
});

/** Fields of a list of traces that only a condition can say: what must not be. */
const TRACE_COLUMNS: Partial<Record<Field, (value: string) => Condition>> = {
  model: (value) => options("models", value, "arrayOptions"),
  tag: (value) => options("tags", value, "arrayOptions"),
  user: (value) => options("userId", value),
  session: (value) => options("sessionId", value),
};
const OBSERVATION_COLUMNS: Partial<Record<Field, (value: string) => Condition>> = {
  prompt: (value) => options("promptName", value),
  promptversion: (value) => options("promptVersion", value),
  user: (value) => options("userId", value),
  session: (value) => options("sessionId", value),
};

/** What the server is asked: a relative range becomes moments, rounded so that caches hold for a while. */
export function toQuery(filters: TraceFilters, now: number): URLSearchParams {
  const { params, entries } = baseQuery(filters, now);
  const conditions: Condition[] = [];
  for (const [field, value] of entries) {
    if (isExcluded(value)) conditions.push(TRACE_COLUMNS[field]?.(value) ?? options(field, value));
    else params.set(field, value);
  }
  if (conditions.length > 0) params.set("filter", JSON.stringify(conditions));
  return params;
}

/** As `toQuery`, of a list of observations. */
export function toObservationQuery(filters: TraceFilters, now: number): URLSearchParams {
  const { params, entries } = baseQuery(filters, now);
  const conditions = entries.map(([field, value]) => OBSERVATION_COLUMNS[field]?.(value) ?? options(field, value));
  if (conditions.length > 0) params.set("filter", JSON.stringify(conditions));
  return params;
}

function baseQuery(filters: TraceFilters, now: number) {
  const { from, to } = spanOf(filters, now);
  const params = new URLSearchParams({ ...(filters.q && { q: filters.q }), from });
  if (filters.to) params.set("to", to);
  return { params, entries: Object.entries(filters.fields) as [Field, string][] };
}

export function spanOf(filters: TraceFilters, now: number): { from: string; to: string } {
  if (filters.from && filters.to) return { from: filters.from, to: filters.to };
  const minutes = RANGES[isRange(filters.range) ? filters.range : DEFAULT_RANGE];
  return { from: new Date(now - minutes * 60_000).toISOString(), to: new Date(now).toISOString() };
}

const QUALIFIED = /(?:^|\s)(-?\w+):(?:"([^"]*)"|(\S+))/g;

/** `timeout model:smollm2 -status:error` -> words, and fields taken out of them; `-` excludes. */
export function parseSearch(text: string, names: readonly Field[] = FIELDS): Pick<TraceFilters, "q" | "fields"> {
  const fields: TraceFilters["fields"] = {};
  const q = text.replace(QUALIFIED, (whole, name: string, quoted?: string, bare?: string) => {
    const field = names.find((f) => f === name.replace(/^-/, "").toLowerCase());
    if (!field) return whole;
    fields[field] = `${name.startsWith("-") ? "!" : ""}${quoted ?? bare ?? ""}`;
    return " ";
  });
  return { q: q.replace(/\s+/g, " ").trim(), fields };
}

/** The filters with one field set, or without it. */
export function withField(filters: TraceFilters, field: Field, value: string | null): TraceFilters {
  const rest = Object.entries(filters.fields).filter(([name]) => name !== field);
  return { ...filters, fields: Object.fromEntries(value === null ? rest : [...rest, [field, value]]) };
}

export const hasFilters = (filters: TraceFilters): boolean =>
  filters.q !== "" || Object.keys(filters.fields).length > 0;

/** Whether a row that came over the live feed belongs in the list; text search is the server's. */
export function matches(row: TraceRow, filters: TraceFilters, now: number): boolean {
  const { from, to } = spanOf(filters, now);
  const at = Date.parse(row.started_at);
  if (at < Date.parse(from) || (filters.to && at > Date.parse(to))) return false;
  const has: Partial<Record<Field, (value: string) => boolean>> = {
    model: (value) => row.models.includes(value),
    status: (value) => (row.status === "error") === (value === "error"),
    name: (value) => row.name === value,
    user: (value) => row.user_id === value,
    session: (value) => row.session_id === value,
    tag: (value) => row.tags.includes(value),
    environment: (value) => row.environment === value,
  };
  return FIELDS.every((field) => {
    const value = filters.fields[field];
    if (value === undefined) return true;
    return isExcluded(value) ? !has[field]?.(value.slice(1)) : has[field]?.(value) === true;
  });
}

/** Puts new or changed rows into a list that is newest first. */
export function mergeRows(list: readonly TraceRow[], incoming: readonly TraceRow[]): TraceRow[] {
  const byId = new Map([...list, ...incoming].map((row) => [row.id, row]));
  return [...byId.values()].sort(
    (a, b) => Date.parse(b.started_at) - Date.parse(a.started_at) || (a.id < b.id ? 1 : -1),
  );
}
