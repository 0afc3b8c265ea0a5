import { defaultKeymap } from "@codemirror/commands";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, placeholder as placeholderOf } from "@codemirror/view";
import { useContext, useEffect, useRef } from "react";
import { useLocation } from "wouter";
import { yCollab, yUndoManagerKeymap } from "y-codemirror.next";
import type { Text } from "yjs";

import { Includes } from "@/components/prompt-area";
import { useProject } from "@/hooks/use-project";

import { commentMarks } from "./comment-marks";
import { promptMarks } from "./prompt-marks";
import { ReviewContext } from "./review-store";
import type { Room } from "./room";
import { useShared } from "./use-room";

interface CoTextProps {
  room: Room;
  text: Text;
  label: string;
  placeholder: string;
  readOnly: boolean;
}

/** Publishing is the page's chord; the editor would only put an empty line in. */
const typingKeys = defaultKeymap.filter(({ key }) => key !== "Mod-Enter");

/** A text that colleagues write at the same time: their cursors show, undo takes back one's own edits only. */
export function CoText({ room, text, label, placeholder, readOnly }: CoTextProps) {
  const host = useRef<HTMLDivElement>(null);
  const review = useContext(ReviewContext);
  const { slug } = useProject();
  const [, go] = useLocation();
  const navigate = useRef(go);
  useEffect(() => {
    navigate.current = go;
  });
  useEffect(() => {
    const view = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: text.toString(),
        extensions: [
          keymap.of([...yUndoManagerKeymap, ...typingKeys]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
          EditorState.readOnly.of(readOnly),
          EditorView.editable.of(!readOnly),
          placeholderOf(placeholder),
          promptMarks(room, slug, (href) => navigate.current(href)),
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
  }, [room, text, label, placeholder, readOnly, review, slug]);
  return (
    <>
      <div className="t-text" ref={host} />
      <IncludesOf text={text} />
    </>
  );
}

/** Drawn by itself, so that no key typed draws the editor anew. */
function IncludesOf({ text }: { text: Text }) {
  useShared(text);
  return <Includes text={text.toString()} />;
}
