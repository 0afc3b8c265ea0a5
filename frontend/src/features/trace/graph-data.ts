/** A trace as a graph: what ran, how often, and what came after what. */

import type { Observation } from "@/lib/api/types";
import { grouped } from "@/lib/grouped";

export interface GraphNode {
  id: string;
  name: string;
  type: string;
  /** In the order of their start. */
  observations: Observation[];
  failed: number;
  totalMs: number;
}

/** `calls`: a parent and what it starts first; `then`: what begins after its sibling has ended. */
export interface GraphEdge {
  from: string;
  to: string;
  kind: "calls" | "then";
  count: number;
}

export interface TraceGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  /** Kinds of steps that found no room. */
  left: number;
}

const MOST_NODES = 60;
const TOLERANCE_MS = 0.5; // clocks of one process, rounded by its exporter

const startOf = (o: Observation) => Date.parse(o.started_at);
const endOf = (o: Observation) => startOf(o) + (o.duration_ms ?? 0);
const isFailed = (o: Observation) => o.status === "error" || o.level.toLowerCase() === "error";

export function graphOf(observations: readonly Observation[]): TraceGraph {
  const kept = withoutStages(observations).toSorted((a, b) => startOf(a) - startOf(b));
  const names = namer(kept);
  const all = nodesOf(kept, names);
  const shown = new Map(roomFor(all).map((node) => [node.id, node]));
  const edges = edgesOf(kept, (o) => (shown.has(names(o)) ? names(o) : null));
  return { nodes: [...shown.values()], edges, left: all.length - shown.size };
}

/** The stages of the local engine (queue, prefill, decode) are a generation's inside, not steps of the agent. */
function withoutStages(observations: readonly Observation[]): Observation[] {
  const parents = new Set(observations.map((o) => o.parent_id));
  const generations = new Set(observations.filter((o) => o.type.toLowerCase() === "generation").map((o) => o.id));
  return observations.filter((o) => o.type.toLowerCase() !== "span" || o.parent_id === null || !generations.has(o.parent_id) || parents.has(o.id));
}

/** One node a type and name; where numbered names make too many, the numbers count as one. */
function namer(observations: readonly Observation[]): (o: Observation) => string {
  const plain = (o: Observation) => `${o.type.toLowerCase()} ${o.name}`;
  if (new Set(observations.map(plain)).size <= MOST_NODES) return plain;
  return (o) => `${o.type.toLowerCase()} ${o.name.replace(/\d+/g, "#")}`;
}

function nodesOf(observations: readonly Observation[], nameOf: (o: Observation) => string): GraphNode[] {
  const nodes = new Map<string, GraphNode>();
  for (const o of observations) {
    const id = nameOf(o);
    const node = nodes.get(id) ?? { id, name: id.slice(id.indexOf(" ") + 1), type: o.type, observations: [], failed: 0, totalMs: 0 };
    node.observations.push(o);
    node.totalMs += o.duration_ms ?? 0;
    if (isFailed(o)) node.failed += 1;
    nodes.set(id, node);
  }
  return [...nodes.values()];
}

/** Where there are too many, those that ran most. */
function roomFor(nodes: GraphNode[]): GraphNode[] {
  if (nodes.length <= MOST_NODES) return nodes;
  const kept = new Set(nodes.toSorted((a, b) => b.observations.length - a.observations.length).slice(0, MOST_NODES));
  return nodes.filter((node) => kept.has(node));
}

function edgesOf(observations: readonly Observation[], nodeOf: (o: Observation) => string | null): GraphEdge[] {
  const byId = new Map(observations.map((o) => [o.id, o]));
  const families = grouped(observations, (o) => (o.parent_id !== null && byId.has(o.parent_id) ? o.parent_id : null));
  const edges = new Map<string, GraphEdge>();
  const add = (source: Observation | undefined, target: Observation, kind: GraphEdge["kind"]) => {
    const from = source && nodeOf(source);
    const to = nodeOf(target);
    if (!from || !to) return;
    const key = JSON.stringify([from, to, kind]);
    const edge = edges.get(key);
    if (edge) edge.count += 1;
    else edges.set(key, { from, to, kind, count: 1 });
  };
  for (const [parent, family] of families) {
    const before = predecessors(family);
    for (const [at, o] of family.entries()) {
      const earlier = before[at];
      if (earlier) add(earlier, o, "then");
      else if (parent !== null) add(byId.get(parent), o, "calls");
    }
  }
  return [...edges.values()];
}

/** For each of the siblings, by their start, the one that ended last before it began. */
function predecessors(family: readonly Observation[]): (Observation | undefined)[] {
  const places = new Map(family.map((o, at) => [o, at]));
  const ended = family.toSorted((a, b) => endOf(a) - endOf(b));
  let next = 0;
  return family.map((o, at) => {
    while (next < ended.length && endOf(ended[next]!) <= startOf(o) + TOLERANCE_MS && places.get(ended[next]!)! < at) next += 1;
    return ended[next - 1];
  });
}
