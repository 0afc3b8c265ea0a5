/** Labels point at versions; `latest` follows by itself and is nobody's to move. */

import type { PromptVersion } from "@/lib/api/types";

import type { LabelChange } from "./api";

const USUAL = ["production", "staging"];
export const MANAGED = "latest";

/** Labels in use and the usual ones, production first. */
export function labelsToOffer(versions: readonly PromptVersion[]): string[] {
  const used = versions.flatMap((version) => version.labels).filter((label) => label !== MANAGED);
  const others = [...new Set(used)].filter((label) => !USUAL.includes(label)).sort();
  return [...USUAL, ...others];
}

/** What choosing a label does to a version: it comes, or goes where it is there already. */
export function labelChange(label: string, version: PromptVersion): LabelChange {
  return { label, version: version.labels.includes(label) ? null : version.version };
}

/** Callers get another text at once, so production is never moved by a slip. */
export const needsConfirm = ({ label }: LabelChange): boolean => label === "production";

/** What is wrong with a new label, or null. */
export function labelProblem(label: string): string | null {
  if (label === MANAGED) return "latest always is the newest version and cannot be given by hand";
  if (/^\d+$/.test(label)) return "A number names a version: use a word";
  if (!/^[a-z0-9][a-z0-9._-]*$/.test(label)) return "Small letters, digits, - _ and . only";
  return null;
}
