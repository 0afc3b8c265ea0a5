/**
 * Layers from top to bottom, as Sugiyama, Tagawa and Toda (1981) draw hierarchies: cycles are
 * broken, nodes put into layers by their longest way, layers ordered so that edges cross seldom,
 * and edges over several layers led around what lies between.
 */

import { grouped } from "@/lib/grouped";

export interface Size {
  width: number;
  height: number;
}

export interface Point {
  x: number;
  y: number;
}

export interface Link {
  from: string;
  to: string;
}

export interface Placed<L extends Link> extends Size {
  /** Top left corners. */
  places: Map<string, Point>;
  layers: string[][];
  ways: { link: L; points: Point[]; back: boolean }[];
}

export const NODE: Size = { width: 176, height: 48 };
const GAP = { x: 28, y: 52 };
const MARGIN = 24;
const THROUGH = 20; // width of an edge that passes a layer
const SWEEPS = 8;
const APART = 16; // two edges between the same nodes, one down and one up

export function layout<L extends Link>(ids: readonly string[], links: readonly L[]): Placed<L> {
  const straight = links.filter((link) => link.from !== link.to);
  const back = backLinks(ids, straight);
  const down = straight.map((link) => (back.has(link) ? { upper: link.to, lower: link.from, link } : { upper: link.from, lower: link.to, link }));
  const ranks = ranksOf(ids, down);
  const { layers, chains } = layersOf(ids, ranks, down);
  order(layers, chains);
  const centers = centersOf(layers);
  const width = Math.max(NODE.width, ...layers.map((layer) => widthOf(layer))) + 2 * MARGIN;
  const at = (id: string): Point => ({ x: centers.get(id)!.x + width / 2, y: centers.get(id)!.y });
  const both = new Set(straight.map((link) => JSON.stringify([link.from, link.to])));
  const ways = down.map(({ link }, index) => {
    const isBack = back.has(link);
    const shift = both.has(JSON.stringify([link.to, link.from])) ? (isBack ? APART : -APART) : 0;
    const points = chains[index]!.map((id) => ({ x: at(id).x + shift, y: at(id).y }));
    return { link, points: isBack ? points.toReversed() : points, back: isBack };
  });
  const loops = links.filter((link) => link.from === link.to).map((link) => ({ link, points: [at(link.from), at(link.from)], back: true }));
  const places = new Map(ids.map((id) => [id, { x: at(id).x - NODE.width / 2, y: at(id).y - NODE.height / 2 }]));
  const shown = layers.map((layer) => layer.filter((id) => places.has(id)));
  return { places, layers: shown, ways: [...ways, ...loops], width, height: layers.length * (NODE.height + GAP.y) - GAP.y + 2 * MARGIN };
}

/** Links that close a cycle, walking from what came first. */
function backLinks<L extends Link>(ids: readonly string[], links: readonly L[]): Set<L> {
  const out = grouped(links, (link) => link.from);
  const state = new Map<string, "open" | "done">();
  const back = new Set<L>();
  for (const root of ids) {
    const stack = state.has(root) ? [] : [{ id: root, next: 0 }];
    if (stack.length > 0) state.set(root, "open");
    while (stack.length > 0) {
      const top = stack.at(-1)!;
      const link = out.get(top.id)?.[top.next++];
      if (link === undefined) {
        state.set(top.id, "done");
        stack.pop();
      } else if (state.get(link.to) === "open") back.add(link);
      else if (!state.has(link.to)) {
        state.set(link.to, "open");
        stack.push({ id: link.to, next: 0 });
      }
    }
  }
  return back;
}

interface Down<L extends Link> {
  upper: string;
  lower: string;
  link: L;
}

/** The layer of each node: the longest way to it. */
function ranksOf<L extends Link>(ids: readonly string[], down: readonly Down<L>[]): Map<string, number> {
  const ranks = new Map(ids.map((id) => [id, 0]));
  const above = new Map(ids.map((id) => [id, 0]));
  for (const { lower } of down) above.set(lower, above.get(lower)! + 1);
  const out = grouped(down, ({ upper }) => upper);
  const ready = ids.filter((id) => above.get(id) === 0);
  for (let id = ready.shift(); id !== undefined; id = ready.shift()) {
    for (const { lower } of out.get(id) ?? []) {
      ranks.set(lower, Math.max(ranks.get(lower)!, ranks.get(id)! + 1));
      above.set(lower, above.get(lower)! - 1);
      if (above.get(lower) === 0) ready.push(lower);
    }
  }
  return ranks;
}

const isThrough = (id: string) => id.startsWith("\0");

/** Layers of nodes, and for each link its nodes with a stand-in in every layer that it passes. */
function layersOf<L extends Link>(ids: readonly string[], ranks: ReadonlyMap<string, number>, down: readonly Down<L>[]) {
  const layers: string[][] = Array.from({ length: Math.max(0, ...ranks.values()) + 1 }, () => []);
  for (const id of ids) layers[ranks.get(id)!]!.push(id);
  const chains = down.map(({ upper, lower }, index) => {
    const between: string[] = [];
    for (let rank = ranks.get(upper)! + 1; rank < ranks.get(lower)!; rank++) {
      const through = `\0${index} ${rank}`;
      layers[rank]!.push(through);
      between.push(through);
    }
    return [upper, ...between, lower];
  });
  return { layers, chains };
}

/** Sorts each layer by the mean place of its neighbors, downwards and upwards in turn. */
function order(layers: string[][], chains: readonly string[][]): void {
  const steps = chains.flatMap((chain) => chain.slice(1).map((lower, at) => ({ upper: chain[at]!, lower })));
  const above = grouped(steps, (step) => step.lower);
  const below = grouped(steps, (step) => step.upper);
  const place = new Map<string, number>();
  const note = (layer: string[]) => layer.forEach((id, at) => place.set(id, at - (layer.length - 1) / 2));
  layers.forEach(note);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : layers.toReversed()) {
      const neighbors = (id: string) => (down ? above.get(id)?.map((step) => step.upper) : below.get(id)?.map((step) => step.lower));
      const means = new Map(layer.map((id) => [id, mean(neighbors(id), place) ?? place.get(id)!]));
      layer.sort((a, b) => means.get(a)! - means.get(b)!);
      note(layer);
    }
  }
}

function mean(ids: readonly string[] | undefined, place: ReadonlyMap<string, number>): number | null {
  return ids ? ids.reduce((sum, id) => sum + place.get(id)!, 0) / ids.length : null;
}

const widthIn = (id: string) => (isThrough(id) ? THROUGH : NODE.width);
const widthOf = (layer: readonly string[]) => layer.reduce((sum, id) => sum + widthIn(id) + GAP.x, -GAP.x);

/** Middles of the nodes; 0 is the middle of each layer. */
function centersOf(layers: readonly string[][]): Map<string, Point> {
  const centers = new Map<string, Point>();
  layers.forEach((layer, rank) => {
    let x = -widthOf(layer) / 2;
    const y = MARGIN + rank * (NODE.height + GAP.y) + NODE.height / 2;
    for (const id of layer) {
      centers.set(id, { x: x + widthIn(id) / 2, y });
      x += widthIn(id) + GAP.x;
    }
  });
  return centers;
}

/** A smooth way through the points, from the border of the first node to that of the last. */
export function pathOf(points: readonly Point[]): string {
  const first = points[0]!;
  const end = points.at(-1)!;
  if (first.x === end.x && first.y === end.y) return loopOf(first);
  const turn = (NODE.height / 2) * Math.sign(end.y - first.y);
  const knots = [{ x: first.x, y: first.y + turn }, ...points.slice(1, -1), { x: end.x, y: end.y - turn }];
  const parts = knots.slice(1).map((to, at) => {
    const from = knots[at]!;
    const middle = (from.y + to.y) / 2;
    return `C${from.x},${middle} ${to.x},${middle} ${to.x},${to.y}`;
  });
  return `M${knots[0]!.x},${knots[0]!.y}${parts.join("")}`;
}

function loopOf({ x, y }: Point): string {
  const right = x + NODE.width / 2;
  return `M${right},${y - 10}C${right + 26},${y - 24} ${right + 26},${y + 24} ${right},${y + 10}`;
}

/** Where an edge's label stands. */
export function labelOf(points: readonly Point[]): Point {
  const first = points[0]!;
  const end = points.at(-1)!;
  if (first.x === end.x && first.y === end.y) return { x: first.x + NODE.width / 2 + 26, y: first.y };
  const middle = points.length % 2 === 1 ? [points[(points.length - 1) / 2]!] : [points[points.length / 2 - 1]!, points[points.length / 2]!];
  return { x: middle.reduce((sum, p) => sum + p.x, 0) / middle.length, y: middle.reduce((sum, p) => sum + p.y, 0) / middle.length };
}
