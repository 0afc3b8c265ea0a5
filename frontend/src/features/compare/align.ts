/** Steps of two traces beside each other. */

import type { Observation } from "@/lib/api/types";

export interface Step {
  a: Observation | undefined;
  b: Observation | undefined;
}

const MOST = 400;
const label = (o: Observation | undefined) => o && `${o.type} ${o.name}`;

/** The pairing, in order of start, that keeps the most steps of the same type and name. */
export function alignSteps(a: readonly Observation[], b: readonly Observation[]): Step[] {
  const left = a.slice(0, MOST);
  const right = b.slice(0, MOST);
  const best = bestPairs(left.map(label), right.map(label));
  const steps: Step[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    const taken = best.next(i, j);
    steps.push({ a: taken === "b" ? undefined : left[i++], b: taken === "a" ? undefined : right[j++] });
  }
  return steps;
}

/** How many pairs can still be made from each place on, and so what to take next. */
function bestPairs(left: (string | undefined)[], right: (string | undefined)[]) {
  const width = right.length + 1;
  const best = new Uint16Array((left.length + 1) * width);
  const at = (i: number, j: number) => best[i * width + j]!;
  const pair = (i: number, j: number) => (left[i] === right[j] ? at(i + 1, j + 1) + 1 : 0);
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) best[i * width + j] = Math.max(pair(i, j), at(i + 1, j), at(i, j + 1));
  }
  const next = (i: number, j: number): "both" | "a" | "b" => {
    if (i === left.length) return "b";
    if (j === right.length) return "a";
    if (pair(i, j) === at(i, j) && left[i] === right[j]) return "both";
    return at(i + 1, j) === at(i, j) ? "a" : "b";
  };
  return { next };
}
