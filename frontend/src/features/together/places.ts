/** Where in the room somebody is, out of what their browser tells. */

import * as Y from "yjs";

import type { Room } from "./room";

export interface Place {
  label: string;
  /** The panel they are in. */
  tab: string | null;
  /** The field of a form. */
  field: string | null;
  /** The text their cursor is in, and where in it. */
  text: Y.Text | null;
  index: number;
  /** What is at the top of their screen. */
  top: { text: Y.Text; index: number } | null;
}

type State = Record<string, unknown>;
const LABEL_LEN = 60;

export function placeOf(room: Room, state: State): Place | null {
  const top = spotOf(room, state.top);
  const form = formOf(state.place);
  if (form) return { ...form, text: null, index: 0, top };
  const spot = spotOf(room, (state.cursor as State | null | undefined)?.head);
  if (!spot) return top && { label: "", tab: null, field: null, text: null, index: 0, top };
  return { label: labelOf(room, spot.text, spot.index), tab: null, field: null, ...spot, top };
}

function formOf(value: unknown): Pick<Place, "tab" | "field" | "label"> | null {
  if (typeof value !== "object" || value === null) return null;
  const { tab, field, label } = value as State;
  return { tab: String(tab), field: String(field), label: String(label).slice(0, LABEL_LEN) };
}

function spotOf(room: Room, value: unknown): { text: Y.Text; index: number } | null {
  if (typeof value !== "object" || value === null) return null;
  const found = Y.createAbsolutePositionFromRelativePosition(Y.createRelativePositionFromJSON(value), room.document);
  return found?.type instanceof Y.Text ? { text: found.type, index: found.index } : null;
}

function labelOf(room: Room, text: Y.Text, index: number): string {
  const line = `line ${text.toString().slice(0, index).split("\n").length}`;
  if (text === room.text) return line;
  const at = room.messages.toArray().findIndex((message) => message.get("content") === text);
  return at < 0 ? line : `message ${at + 1}, ${line}`;
}

export const spotJson = (text: Y.Text, index: number): unknown => Y.relativePositionToJSON(Y.createRelativePositionFromTypeIndex(text, index));
