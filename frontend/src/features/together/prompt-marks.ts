/** Variables and included prompts, marked while one writes: what is declared, what is not, and where an include leads. */

import { StateEffect, type Extension } from "@codemirror/state";
import { Decoration, EditorView, MatchDecorator, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";

import { includeHref, markOf, MARKS } from "@/lib/template";

import type { Room } from "./room";

const declared = StateEffect.define<null>();

/** `go` is called with the address of an include that is clicked with Ctrl or ⌘. */
export function promptMarks(room: Room, project: string, go: (href: string) => void): Extension {
  const matches = new MatchDecorator({ regexp: new RegExp(MARKS.source, "g"), decoration: (match) => decorationOf(match, room, project) });
  const plugin = ViewPlugin.fromClass(
    class {
      readonly stop: () => void;
      decorations: DecorationSet;
      constructor(view: EditorView) {
        this.decorations = matches.createDeco(view);
        // Later: the room may change while this editor is in the middle of an update.
        const changed = () => queueMicrotask(() => view.dom.isConnected && view.dispatch({ effects: declared.of(null) }));
        room.variables.observeDeep(changed);
        this.stop = () => room.variables.unobserveDeep(changed);
      }
      update(update: ViewUpdate) {
        const told = update.transactions.some((transaction) => transaction.effects.some((effect) => effect.is(declared)));
        this.decorations = told ? matches.createDeco(update.view) : matches.updateDeco(update, this.decorations);
      }
      destroy() {
        this.stop();
      }
    },
    { decorations: (value) => value.decorations },
  );
  return [plugin, EditorView.domEventHandlers({ mousedown: (event) => followed(event, go) })];
}

function decorationOf(match: RegExpExecArray, room: Room, project: string): Decoration {
  const { variable, include } = markOf(match);
  if (include) {
    const title = `Ctrl-click or ⌘-click opens ${include.name}`;
    return Decoration.mark({ class: "cm-include", attributes: { title, "data-href": includeHref(project, include) } });
  }
  // A room in which nothing is declared marks nothing as missing.
  const unknown = room.variables.size > 0 && !room.variables.has(variable!);
  return Decoration.mark(unknown ? { class: "cm-variable cm-variable-unknown", attributes: { title: `${variable} is not declared` } } : { class: "cm-variable" });
}

function followed(event: MouseEvent, go: (href: string) => void): boolean {
  const href = (event.target as HTMLElement).closest<HTMLElement>("[data-href]")?.dataset.href;
  if (!href || !(event.ctrlKey || event.metaKey)) return false;
  event.preventDefault();
  go(href);
  return true;
}
