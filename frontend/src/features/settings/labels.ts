/** The labels of a project's prompts, as the settings list them. */

import type { LabelUse } from "@/lib/api/types";

export interface LabelRow {
  name: string;
  isProtected: boolean;
  approvals: number;
  /** On how many prompts it is. */
  prompts: number;
}

/** It follows the newest version by itself and is nobody's to move. */
const MANAGED = "latest";

/** `production` first, since it is what code asks for unless told otherwise; the rest by name. */
export function rowsOf(uses: readonly LabelUse[], needed: Record<string, number>, added: readonly string[]): LabelRow[] {
  const known = new Map(uses.map((use) => [use.name, use]));
  const names = new Set(["production", ...[...known.keys(), ...Object.keys(needed), ...added].sort()]);
  names.delete(MANAGED);
  return [...names].map((name) => ({ name, isProtected: known.get(name)?.is_protected ?? false, approvals: needed[name] ?? 0, prompts: known.get(name)?.num_prompts ?? 0 }));
}

/** Why there can be no such label. */
export function labelProblem(name: string, known: readonly string[]): string | null {
  if (name === MANAGED) return "latest follows the newest version; nobody moves it";
  if (known.includes(name)) return `${name} stands above already`;
  if (!/^[a-z0-9_.-]+$/.test(name) || /^\d+$/.test(name)) return "Lower-case letters, digits, dots, hyphens and underscores only, and not digits alone";
  return null;
}
