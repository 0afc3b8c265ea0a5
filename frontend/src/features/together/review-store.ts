/** What the editors and the review panel tell each other: the selection, the comments, and which of them is meant. */

import { createContext, useContext, useSyncExternalStore } from "react";
import type { EditorView } from "@codemirror/view";
import type { Text } from "yjs";

import type { DraftComment } from "@/lib/api/types";

import { placeOf, textsOf, type Place } from "./anchors";
import type { Room } from "./room";

export interface ReviewState {
  /** Open threads, in the order of the text; those without a place come last. */
  threads: DraftComment[];
  selection: Place | null;
  /** The thread that is meant. */
  current: string | null;
  /** A comment being written: of a range, or (null) of the whole draft. */
  writing: { place: Place | null } | null;
}

const NOTHING: ReviewState = { threads: [], selection: null, current: null, writing: null };

export class ReviewStore {
  readonly room: Room;
  #onComment = (): void => this.startComment();
  readonly views = new Map<Text, EditorView>();
  readonly #listeners = new Set<() => void>();
  state: ReviewState = NOTHING;

  constructor(room: Room) {
    this.room = room;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  snapshot = (): ReviewState => this.state;

  set(changed: Partial<ReviewState>): void {
    this.state = { ...this.state, ...changed };
    for (const listener of this.#listeners) listener();
  }

  setThreads(comments: readonly DraftComment[]): void {
    const texts = textsOf(this.room);
    const open = comments.filter((comment) => comment.parent === null && comment.resolved_at === null);
    const rank = new Map(open.map((comment) => [comment, this.#rank(texts, comment)]));
    this.set({ threads: open.sort((a, b) => rank.get(a)! - rank.get(b)!) });
  }

  #rank(texts: Text[], comment: DraftComment): number {
    const place = placeOf(this.room, comment);
    return place ? texts.indexOf(place.text) * 1e9 + place.from : Infinity;
  }

  /** The threads on one text, where they are now. */
  placesIn(text: Text): { id: string; from: number; to: number }[] {
    return this.state.threads.flatMap((comment) => {
      const place = placeOf(this.room, comment);
      return place?.text === text ? [{ id: comment.id, from: place.from, to: place.to }] : [];
    });
  }

  /** What the editors' key for it does. */
  onComment = (): void => this.#onComment();

  commentBy(run: () => void): void {
    this.#onComment = run;
  }

  startComment(): void {
    this.set({ writing: { place: this.state.selection }, current: null });
  }

  /** The next thread (or the one before), brought into sight. */
  step(by: 1 | -1): DraftComment | undefined {
    const { threads, current } = this.state;
    const at = threads.findIndex(({ id }) => id === current);
    const next = threads[at < 0 ? (by > 0 ? 0 : threads.length - 1) : (at + by + threads.length) % threads.length];
    if (next) this.show(next);
    return next;
  }

  show(comment: DraftComment): void {
    this.set({ current: comment.id, writing: null });
    const place = placeOf(this.room, comment);
    const view = place && this.views.get(place.text);
    if (!view) return;
    const top = view.coordsAtPos(Math.min(place.from, view.state.doc.length))?.top;
    const box = view.dom.closest(".t-editor");
    if (top === undefined || !box) return;
    const frame = box.getBoundingClientRect();
    if (top < frame.top + 24 || top > frame.bottom - 96) box.scrollBy({ top: top - frame.top - frame.height / 3 });
  }
}

export const ReviewContext = createContext<ReviewStore | null>(null);

export function useReviewState(store: ReviewStore): ReviewState {
  return useSyncExternalStore(store.subscribe, store.snapshot);
}

export function useReviewStore(): ReviewStore {
  const store = useContext(ReviewContext);
  if (!store) throw new Error("There is no review around this");
  return store;
}
