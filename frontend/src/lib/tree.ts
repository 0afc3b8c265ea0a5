/** Observations of a trace as rows: a tree flattened once, with places on a shared time axis. */

import type { Observation } from "@/lib/api/types";

export interface TreeRow {
  observation: Observation;
  depth: number;
  childCount: number; // all descendants
  expanded: boolean;
  start: number; // share of the trace's duration, 0..1
  width: number;
  firstToken: number | null;
}

export interface Axis {
  startMs: number;
  totalMs: number;
}

const starts = new WeakMap<Observation, number>();

/** Read once of each: a long trace comes in portions, and is laid out again with each. */
function startOf(o: Observation): number {
  let start = starts.get(o);
  if (start === undefined) starts.set(o, (start = Date.parse(o.started_at) + microsOf(o.started_at)));
  return start;
}

const durationOf = (o: Observation) => o.duration_ms ?? (o.ended_at ? Date.parse(o.ended_at) - Date.parse(o.started_at) : 0);

/** `Date` keeps milliseconds; the fraction below them orders short spans. */
function microsOf(iso: string): number {
  const fraction = /\.\d{3}(\d+)/.exec(iso)?.[1];
  return fraction ? Number(`0.${fraction}`) : 0;
}

export function axisOf(observations: readonly Observation[]): Axis {
  if (observations.length === 0) return { startMs: 0, totalMs: 1 };
  let start = Infinity;
  let end = -Infinity;
  for (const o of observations) {
    start = Math.min(start, startOf(o));
    end = Math.max(end, startOf(o) + durationOf(o));
  }
  return { startMs: start, totalMs: Math.max(end - start, 0.001) };
}

/** Children by parent, oldest first; an observation whose parent never came counts as a root. */
function childrenOf(observations: readonly Observation[]): Map<string | null, Observation[]> {
  const byId = new Map(observations.map((o) => [o.id, o]));
  const inCycle = cyclesOf(observations, byId);
  const children = new Map<string | null, Observation[]>();
  for (const o of [...observations].sort((a, b) => startOf(a) - startOf(b))) {
    const parent = o.parent_id !== null && byId.has(o.parent_id) && !inCycle.has(o.id) ? o.parent_id : null;
    const siblings = children.get(parent);
    if (siblings) siblings.push(o);
    else children.set(parent, [o]);
  }
  return children;
}

/** Telemetry is written by others: parents may point in a circle. Each observation is walked once. */
function cyclesOf(observations: readonly Observation[], byId: ReadonlyMap<string, Observation>): Set<string> {
  const done = new Set<string>();
  const cyclic = new Set<string>();
  for (const first of observations) {
    const way = new Set<string>();
    let at: Observation | undefined = first;
    while (at !== undefined && !done.has(at.id) && !way.has(at.id)) {
      way.add(at.id);
      at = at.parent_id === null ? undefined : byId.get(at.parent_id);
    }
    if (at !== undefined && way.has(at.id)) {
      for (let one: Observation = at; !cyclic.has(one.id); one = byId.get(one.parent_id!)!) cyclic.add(one.id);
    }
    for (const id of way) done.add(id);
  }
  return cyclic;
}

export function flatten(observations: readonly Observation[], collapsed: ReadonlySet<string>): TreeRow[] {
  const axis = axisOf(observations);
  const children = childrenOf(observations);
  const rows: TreeRow[] = [];

  const counts = descendantsOf(children);
  // By hand: a chain of thousands is deeper than the stack.
  const waiting = (children.get(null) ?? []).map((o) => ({ o, depth: 0 })).reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { o, depth } = next;
    const expanded = !collapsed.has(o.id);
    rows.push(rowOf(o, depth, counts.get(o.id) ?? 0, expanded, axis));
    const below = expanded ? children.get(o.id) : undefined;
    if (below) for (let at = below.length - 1; at >= 0; at--) waiting.push({ o: below[at]!, depth: depth + 1 });
  }
  return rows;
}

/** How many observations lie below each one that has children. */
function descendantsOf(children: ReadonlyMap<string | null, Observation[]>): Map<string, number> {
  const order = [...(children.get(null) ?? [])];
  for (let at = 0; at < order.length; at++) for (const child of children.get(order[at]!.id) ?? []) order.push(child);
  const counts = new Map<string, number>();
  for (const o of order.reverse()) {
    const below = children.get(o.id);
    if (below) counts.set(o.id, below.reduce((sum, child) => sum + 1 + (counts.get(child.id) ?? 0), 0));
  }
  return counts;
}

function rowOf(observation: Observation, depth: number, childCount: number, expanded: boolean, axis: Axis): TreeRow {
  const start = (startOf(observation) - axis.startMs) / axis.totalMs;
  const firstToken = observation.ttft_ms === null ? null : start + observation.ttft_ms / axis.totalMs;
  return { observation, depth, childCount, expanded, start, width: durationOf(observation) / axis.totalMs, firstToken };
}
