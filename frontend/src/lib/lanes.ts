/** A tree of versions as lanes: each branch of it keeps a column of its own. */

export interface LaneNode {
  key: string;
  parent: string | null;
}

export interface Laned {
  key: string;
  lane: number;
  parent: string | null;
}

/**
 * Nodes in the order in which they are shown, newest first; a parent comes after its children.
 * A node takes its first child's lane, so that the line to the newest goes straight; other children have lanes of their own.
 */
export function lanesOf(nodes: readonly LaneNode[]): { rows: Laned[]; count: number } {
  const waiting: (string | null)[] = []; // the node that each lane leads to
  const known = new Set(nodes.map(({ key }) => key));
  let count = 0;
  const rows = nodes.map(({ key, parent }): Laned => {
    const mine = waiting.flatMap((wanted, lane) => (wanted === key ? [lane] : []));
    const lane = mine[0] ?? free(waiting);
    for (const other of mine) waiting[other] = null;
    const shown = parent !== null && known.has(parent) ? parent : null;
    waiting[lane] = shown;
    count = Math.max(count, lane + 1);
    return { key, lane, parent: shown };
  });
  return { rows, count };
}

function free(waiting: (string | null)[]): number {
  const lane = waiting.findIndex((wanted) => wanted === null || wanted === undefined);
  return lane < 0 ? waiting.length : lane;
}
