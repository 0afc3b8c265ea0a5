/** Differences of two prompts by words, messages matched by role and place. */

import { diffArrays } from "diff";

import type { Message } from "@/lib/api/types";

export type Change = { kind: "same" | "add" | "del"; text: string };

export interface MessageDiff {
  role: string;
  changes: Change[];
  changed: boolean;
}

/** Words, and each {{variable}} whole. */
const WORDS = /\{\{\s*[\w.-]+\s*\}\}|[\p{L}\p{N}_]+|\s+|[^\s]/gu;
const LINES = /[^\n]*\n|[^\n]+/g;
/** Two long texts with nothing in common take minutes; the reader waits for neither. */
const PATIENCE_MS = 250;

/** By words; where that takes too long by lines, and else the one text for the other. */
export function diffWords(before: string, after: string): Change[] {
  return diffBy(WORDS, before, after) ?? diffBy(LINES, before, after) ?? replaced(before, after);
}

function diffBy(pieces: RegExp, before: string, after: string): Change[] | null {
  const parts = diffArrays(before.match(pieces) ?? [], after.match(pieces) ?? [], { timeout: PATIENCE_MS });
  return parts?.map((part) => ({ kind: part.added ? "add" : part.removed ? "del" : "same", text: part.value.join("") })) ?? null;
}

const replaced = (before: string, after: string): Change[] => [
  { kind: "del", text: before },
  { kind: "add", text: after },
];

type Pair = [Message | undefined, Message | undefined];

const fits = (a: Message | undefined, b: Message | undefined): boolean => a?.role === b?.role && a !== undefined;

/** The pairing of messages, in order and of the same role, that keeps the most of them. */
function align(before: readonly Message[], after: readonly Message[]): Pair[] {
  const score = Array.from({ length: before.length + 1 }, () => new Array<number>(after.length + 1).fill(0));
  const paired = (i: number, j: number) => (fits(before[i], after[j]) ? score[i + 1]![j + 1]! + likeness(before[i]!, after[j]!) : -1);
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) score[i]![j] = Math.max(paired(i, j), score[i + 1]![j]!, score[i]![j + 1]!);
  }
  return walk(before, after, (i, j) => {
    if (paired(i, j) === score[i]![j]) return "both";
    return score[i + 1]![j]! >= score[i]![j + 1]! ? "old" : "new";
  });
}

function walk(before: readonly Message[], after: readonly Message[], choose: (i: number, j: number) => "both" | "old" | "new"): Pair[] {
  const pairs: Pair[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length && j < after.length) {
    const taken = choose(i, j);
    pairs.push([taken === "new" ? undefined : before[i++], taken === "old" ? undefined : after[j++]]);
  }
  while (i < before.length) pairs.push([before[i++], undefined]);
  while (j < after.length) pairs.push([undefined, after[j++]]);
  return pairs;
}

const likeness = (a: Message, b: Message): number => (a.content === b.content ? 2 : 1);

export function diffMessages(before: readonly Message[], after: readonly Message[]): MessageDiff[] {
  return align(before, after).map(([old, current]) => {
    const changes = diffWords(old?.content ?? "", current?.content ?? "");
    return { role: (current ?? old)!.role, changes, changed: changes.some((c) => c.kind !== "same") };
  });
}
