import { defaultKeymap } from "@codemirror/commands";
import { EditorState } from "@codemirror/state";
import { Decoration, EditorView, keymap, MatchDecorator, placeholder as placeholderOf, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";
import { useContext, useEffect, useRef } from "react";
import { yCollab, yUndoManagerKeymap } from "y-codemirror.next";
import type { Text } from "yjs";

import { commentMarks } from "./comment-marks";
import { ReviewContext } from "./review-store";
import type { Room } from "./room";

interface CoTextProps {
  room: Room;
  text: Text;
  label: string;
  placeholder: string;
  readOnly: boolean;
}

const variables = new MatchDecorator({ regexp: /\{\{\s*[\w.]+\s*\}\}/g, decoration: Decoration.mark({ class: "cm-variable" }) });

const markVariables = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = variables.createDeco(view);
    }
    update(update: ViewUpdate) {
      this.decorations = variables.updateDeco(update, this.decorations);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

/** A text that colleagues write at the same time: their cursors show, undo takes back one's own edits only. */
export function CoText({ room, text, label, placeholder, readOnly }: CoTextProps) {
  const host = useRef<HTMLDivElement>(null);
  const review = useContext(ReviewContext);
  useEffect(() => {
    const view = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: text.toString(),
        extensions: [
          keymap.of([...yUndoManagerKeymap, ...defaultKeymap]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
          EditorState.readOnly.of(readOnly),
          EditorView.editable.of(!readOnly),
          placeholderOf(placeholder),
          markVariables,
          yCollab(text, room.awareness, { undoManager: room.undo }),
          review ? commentMarks(review, text) : [],
        ],
      }),
    });
    room.views.set(text, view);
    return () => {
      if (room.views.get(text) === view) room.views.delete(text);
      view.destroy();
    };
  }, [room, text, label, placeholder, readOnly, review]);
  return <div className="t-text" ref={host} />;
}
