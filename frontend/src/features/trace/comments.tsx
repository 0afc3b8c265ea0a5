import { Trash2 } from "lucide-react";
import { useRef, useState, type FormEvent } from "react";

import { Button, IconButton } from "@/components/button";
import { Ago } from "@/components/time";
import { useAsk } from "@/components/use-ask";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import type { Comment } from "@/lib/api/types";

import { useComments } from "./said-api";

/** A thread, oldest first, and a field to go on. */
export function Comments({ comments, traceId, observationId }: { comments: Comment[]; traceId: string; observationId: string }) {
  const may = useMay("member");
  const { add, remove } = useComments(traceId);
  const { ask, dialog } = useAsk();
  const del = (id: string) => remove.mutate(id, { onError: (error) => announce(`Not deleted: ${messageOf(error)}`, "error") });
  return (
    <>
      {comments.length === 0 && <p className="faint">No comments yet.</p>}
      <ol className="said-thread">
        {comments.map((comment) => (
          <li key={comment.id}>
            <div className="said-head">
              <b>{comment.author}</b>
              <span className="faint">
                {comment.object_type === "TRACE" ? "on the trace · " : ""}
                <Ago at={comment.created_at} />
              </span>
              {comment.is_own && <IconButton label="Delete comment" icon={<Trash2 size={14} />} onClick={() => ask({ title: "Delete your comment?", description: "Nobody sees it any more. This cannot be undone.", action: "Delete comment", run: () => del(comment.id) })} />}
            </div>
            <p>{comment.content}</p>
          </li>
        ))}
      </ol>
      {may && <Write add={add} observationId={observationId} />}
      {dialog}
    </>
  );
}

function Write({ add, observationId }: { add: ReturnType<typeof useComments>["add"]; observationId: string }) {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useHotkey("m", "Write a comment", () => field.current?.focus());
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (text.trim()) add.mutate({ content: text, observationId }, { onSuccess: () => setText("") });
  };
  return (
    <form className="said-write" onSubmit={submit}>
      <textarea
        ref={field}
        className="textarea"
        rows={2}
        maxLength={10_000}
        aria-label="Comment"
        placeholder="Write a comment"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) submit();
          if (event.key !== "Escape") return;
          event.stopPropagation();
          event.currentTarget.blur();
        }}
      />
      {add.error && (
        <p className="field-error" role="alert">
          Not sent: {messageOf(add.error)} Your text is kept.
        </p>
      )}
      <Button size="small" type="submit" keys="mod+Enter" busy={add.isPending} disabled={!text.trim()}>
        Comment
      </Button>
    </form>
  );
}
