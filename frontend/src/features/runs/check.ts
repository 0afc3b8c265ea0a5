/** Whether inputs fit a prompt's variables. */

import { plural } from "@/lib/format";

import type { Inputs, Problem } from "./inputs";

export interface Fit {
  problems: Problem[];
  /** Columns that the prompt does not use: no harm, but maybe a slip. */
  unused: string[];
}

const SHOWN = 5;

export function fitOf(inputs: Inputs, wanted: readonly string[]): Fit {
  const nowhere = wanted.filter((name) => !inputs.columns.includes(name));
  const unused = inputs.columns.filter((name) => !wanted.includes(name));
  const problems = nowhere.map((name): Problem => ({ line: null, message: `No column is named “${name}”, which the prompt wants${likely(name, unused)}` }));
  for (const [index, row] of inputs.rows.entries()) {
    const lacking = wanted.find((name) => !(name in row) && !nowhere.includes(name));
    const line = inputs.lines[index]!;
    if (lacking !== undefined) problems.push({ line, message: `Line ${line} has no “${lacking}”` });
  }
  return { problems, unused };
}

/** A name that differs in capitals, spaces or underscores is most likely what was meant. */
function likely(name: string, candidates: readonly string[]): string {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, "");
  const close = candidates.find((candidate) => plain(candidate) === plain(name));
  return close === undefined ? "" : `; did you mean “${close}”?`;
}

/** The first problems, and how many more there are. */
export function shownProblems(problems: readonly Problem[]): string[] {
  const shown = problems.slice(0, SHOWN).map((problem) => `${problem.message}.`);
  const more = problems.length - SHOWN;
  return more > 0 ? [...shown, `And ${plural(more, "more problem")}.`] : shown;
}
