/** The history of a draft as points on a line: every one can be looked at. */

import type { DraftHistory } from "@/lib/api/types";

export interface Point {
  seq: number;
  at: string;
  people: { name: string; color: string | null }[];
  version: number | null;
}

/** Moments and stretches of writing, oldest first; one that ends where a moment is belongs to it. */
export function pointsOf({ moments, strokes }: DraftHistory): Point[] {
  const points = new Map<number, Point>();
  for (const stroke of strokes) {
    const people = stroke.person ? [stroke.person] : [];
    points.set(stroke.latest, { seq: stroke.latest, at: stroke.ended_at, people, version: null });
  }
  for (const moment of moments) {
    const people = moment.people.map((name) => ({ name, color: null }));
    const known = points.get(moment.seq);
    points.set(moment.seq, { seq: moment.seq, at: moment.created_at, people: known?.people.length ? known.people : people, version: moment.version });
  }
  return [...points.values()].sort((a, b) => a.seq - b.seq);
}

/** Every number that is still there, rising. */
export function seqsOf({ moments, strokes }: DraftHistory): number[] {
  const seqs = new Set(moments.map((moment) => moment.seq));
  for (const { first, latest } of strokes) for (let seq = first; seq <= latest; seq++) seqs.add(seq);
  return [...seqs].sort((a, b) => a - b);
}

/** The point that a number belongs to: the first that is not before it. */
export const pointAt = (points: readonly Point[], seq: number): Point | undefined => points.find((point) => point.seq >= seq) ?? points.at(-1);
