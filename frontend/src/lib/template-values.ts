/** The values that a template was filled in with, read back from what came of it. */

import type { Message } from "@/lib/api/types";

import { piecesOf, type Piece } from "./template";

type Values = Record<string, string>;

/**
 * The values with which `template` says `text`; null where it cannot. A value ends where the words after it begin
 * for the first time. What an included prompt said is passed over.
 */
export function valuesIn(template: string, text: string): Values | null {
  const pieces = piecesOf(template);
  const values: Values = {};
  let at = 0;
  for (const [index, piece] of pieces.entries()) {
    const { variable } = piece;
    const known = knownOf(piece, values);
    const end = known === undefined ? endOf(text, at, pieces, index + 1) : at + known.length;
    if (end < 0 || (known !== undefined && !text.startsWith(known, at))) return null;
    if (variable !== null) values[variable] = text.slice(at, end);
    at = end;
  }
  return at === text.length ? values : null;
}

/** What must stand for a piece: words as they are, a variable what it was before; undefined: anything. */
const knownOf = ({ text, variable, include }: Piece, values: Values): string | undefined => {
  if (variable !== null) return values[variable];
  return include === null ? text : undefined;
};

/** Where the words after a value begin; the last ones stand at the end of the text. */
function endOf(text: string, at: number, pieces: readonly Piece[], next: number): number {
  const after = pieces[next];
  if (after === undefined) return text.length;
  if (after.variable !== null || after.include !== null) return -1; // two in a row cannot be told apart
  if (next < pieces.length - 1) return text.indexOf(after.text, at);
  const end = text.length - after.text.length;
  return end >= at && text.endsWith(after.text) ? end : -1;
}

/** As `valuesIn` for all messages of a prompt; what was said after them (a conversation) does not matter. */
export function valuesOfMessages(template: readonly Message[], sent: readonly Message[]): Values | null {
  const all: Values = {};
  for (const [index, { role, content }] of template.entries()) {
    const said = sent[index];
    if (said?.role !== role || typeof content !== "string" || typeof said.content !== "string") return null;
    const values = valuesIn(content, said.content);
    if (values === null) return null;
    for (const [name, value] of Object.entries(values)) {
      if (all[name] !== undefined && all[name] !== value) return null;
      all[name] = value;
    }
  }
  return all;
}
