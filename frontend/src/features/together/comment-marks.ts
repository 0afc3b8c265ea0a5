/** Comments shown in the text: a marked range each, and what is selected told to the review. */

import { Prec, StateEffect, type Extension, type Range } from "@codemirror/state";
import { Decoration, EditorView, keymap, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";
import type { Text } from "yjs";

import type { ReviewStore } from "./review-store";

const drawn = StateEffect.define<null>();

function decorationsOf(store: ReviewStore, text: Text, length: number): DecorationSet {
  const marks: Range<Decoration>[] = store
    .placesIn(text)
    .filter(({ to }) => to <= length)
    .map(({ id, from, to }) =>
      Decoration.mark({ class: `cm-comment${id === store.state.current ? " cm-comment-current" : ""}`, attributes: { "data-comment": id } }).range(from, to),
    );
  const writing = store.state.writing?.place;
  if (writing?.text === text && writing.to <= length) marks.push(Decoration.mark({ class: "cm-comment cm-comment-current" }).range(writing.from, writing.to));
  return Decoration.set(marks, true);
}

export function commentMarks(store: ReviewStore, text: Text): Extension {
  const plugin = ViewPlugin.fromClass(
    class {
      readonly view: EditorView;
      readonly stop: () => void;
      decorations: DecorationSet;
      constructor(view: EditorView) {
        this.view = view;
        store.views.set(text, view);
        this.decorations = decorationsOf(store, text, view.state.doc.length);
        // Later: the store may change while this editor is in the middle of an update.
        this.stop = store.subscribe(() => queueMicrotask(() => store.views.get(text) === view && view.dispatch({ effects: drawn.of(null) })));
      }
      update(update: ViewUpdate) {
        const told = update.transactions.some((transaction) => transaction.effects.some((effect) => effect.is(drawn)));
        if (told) this.decorations = decorationsOf(store, text, update.state.doc.length);
        else if (update.docChanged) this.decorations = this.decorations.map(update.changes);
      }
      destroy() {
        this.stop();
        if (store.views.get(text) === this.view) store.views.delete(text);
      }
    },
    { decorations: (value) => value.decorations },
  );
  return [plugin, selectionTold(store, text), clicks(store), keys(store)];
}

/** Before the editor's own keys, which know Ctrl+M, too. */
function keys(store: ReviewStore): Extension {
  const comment = () => {
    store.onComment();
    return true;
  };
  return [Prec.high(keymap.of([{ key: "Mod-m", run: comment }])), keymap.of([{ key: "Escape", run: leave }])];
}

/** Out of the text, so that the page's own keys are heard again; the selection stays. */
function leave(view: EditorView): boolean {
  view.contentDOM.blur();
  return true;
}

function selectionTold(store: ReviewStore, text: Text): Extension {
  return EditorView.updateListener.of(({ view, selectionSet }) => {
    if (!selectionSet || store.state.writing) return;
    const { from, to, empty } = view.state.selection.main;
    const known = store.state.selection;
    if (!empty) queueMicrotask(() => store.set({ selection: { text, from, to } }));
    else if (known?.text === text) queueMicrotask(() => store.set({ selection: null }));
  });
}

function clicks(store: ReviewStore): Extension {
  return EditorView.domEventHandlers({
    click: (event) => {
      const id = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-comment]")?.dataset.comment : undefined;
      if (id && id !== store.state.current) store.set({ current: id });
    },
  });
}
