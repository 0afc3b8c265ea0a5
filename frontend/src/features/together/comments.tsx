import { useQuery } from "@tanstack/react-query";
import { MessageSquarePlus } from "lucide-react";
import { useEffect, useRef, useState, type FormEvent, type KeyboardEvent } from "react";

import { Button } from "@/components/button";
import { Loaded } from "@/components/states";
import { Ago } from "@/components/time";
import { useAsk } from "@/components/use-ask";
import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import type { DraftComment } from "@/lib/api/types";

import { anchorsOf, placeOf, type Place } from "./anchors";
import type { PanelProps } from "./panels";
import { commentsQuery, useComments } from "./review-api";
import { useReviewState, useReviewStore } from "./review-store";

/** The threads of a draft, in the order of its text; what was settled folds away. */
export function CommentThreads({ draft }: PanelProps) {
  const { slug } = useProject();
  const store = useReviewStore();
  const { threads, writing } = useReviewState(store);
  const comments = useQuery(commentsQuery(slug, draft.id));
  return (
    <section className="rv-comments" aria-labelledby="rv-comments">
      <div className="rv-head">
        <h2 id="rv-comments">Comments</h2>
        {!writing && (
          <Button variant="quiet" size="small" icon={<MessageSquarePlus size={14} />} keys="m" onClick={() => store.startComment()}>
            Comment
          </Button>
        )}
      </div>
      {writing && <NewComment draft={draft.id} place={writing.place} onDone={() => store.set({ writing: null })} />}
      <Loaded query={comments} what="The comments">
        {(all) => (
          <>
            {all.length === 0 && !writing && <p className="faint">Nothing was said yet. Select words in the text and press m to comment on them.</p>}
            <ol className="rv-threads">
              {threads.map((thread) => (
                <Thread key={thread.id} thread={thread} all={all} draft={draft.id} />
              ))}
            </ol>
            <Settled all={all} draft={draft.id} />
          </>
        )}
      </Loaded>
    </section>
  );
}

function NewComment({ draft, place, onDone }: { draft: string; place: Place | null; onDone: () => void }) {
  const { add } = useComments(draft);
  const range = place ? anchorsOf(place) : null;
  const send = (body: string) =>
    add.mutate(
      { body, ...range },
      {
        onSuccess: onDone,
        onError: (error) => announce(`Not sent, your text stays: ${messageOf(error)}`, "error"),
      },
    );
  return (
    <div className="rv-new">
      {range ? <blockquote>{range.quote}</blockquote> : <p className="faint">On the whole draft</p>}
      <Write label="Comment" placeholder="What do you think?" action="Comment" busy={add.isPending} focus onSend={send} onCancel={onDone} />
    </div>
  );
}

interface WriteProps {
  label: string;
  placeholder: string;
  action: string;
  busy: boolean;
  focus?: boolean;
  onSend: (body: string) => void;
  onCancel?: () => void;
}

function Write({ label, placeholder, action, busy, focus, onSend, onCancel }: WriteProps) {
  const [body, setBody] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (focus) field.current?.focus();
  }, [focus]);
  const send = (event?: FormEvent) => {
    event?.preventDefault();
    if (body.trim() && !busy) onSend(body);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
      event.preventDefault();
      event.stopPropagation();
      send();
    } else if (event.key === "Escape" && onCancel) {
      event.stopPropagation();
      onCancel();
    }
  };
  return (
    <form className="rv-write" onSubmit={send}>
      <textarea ref={field} className="textarea" rows={2} maxLength={10_000} aria-label={label} placeholder={placeholder} value={body} onChange={(event) => setBody(event.target.value)} onKeyDown={onKeyDown} />
      {(body || onCancel) && (
        <div className="rv-buttons">
          <Button type="submit" size="small" variant="primary" keys="mod+Enter" busy={busy} disabled={!body.trim()}>
            {action}
          </Button>
          {onCancel && (
            <Button size="small" variant="quiet" onClick={onCancel}>
              Cancel
            </Button>
          )}
        </div>
      )}
    </form>
  );
}

interface ThreadProps {
  thread: DraftComment;
  all: DraftComment[];
  draft: string;
}

function Thread({ thread, all, draft }: ThreadProps) {
  const store = useReviewStore();
  const isCurrent = useReviewState(store).current === thread.id;
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isCurrent) item.current?.scrollIntoView({ block: "nearest" });
  }, [isCurrent]);
  const replies = all.filter((comment) => comment.parent === thread.id);
  return (
    <li ref={item} className="rv-thread" data-current={isCurrent} aria-current={isCurrent || undefined} onClick={() => !isCurrent && store.show(thread)}>
      <Quote thread={thread} />
      <Said comment={thread} draft={draft} />
      {replies.map((reply) => (
        <Said key={reply.id} comment={reply} draft={draft} />
      ))}
      {isCurrent && <Answer thread={thread} draft={draft} />}
    </li>
  );
}

/** What the thread is about; where the words are gone, what they were. */
function Quote({ thread }: { thread: DraftComment }) {
  const { room } = useReviewStore();
  if (!thread.start) return null;
  const place = placeOf(room, thread);
  return (
    <>
      <blockquote data-gone={!place}>{place ? place.text.toString().slice(place.from, place.to) : thread.quote}</blockquote>
      {!place && <p className="rv-gone">These words are gone from the text.</p>}
    </>
  );
}

function Said({ comment, draft }: { comment: DraftComment; draft: string }) {
  const { remove } = useComments(draft);
  const { ask, dialog } = useAsk();
  const del = () => remove.mutate(comment.id, { onError: (error) => announce(`Not deleted: ${messageOf(error)}`, "error") });
  return (
    <div className="rv-said">
      <p className="rv-by">
        <b>{comment.author}</b>
        <span className="faint">
          <Ago at={comment.created_at} />
        </span>
        {comment.is_own && (
          <button type="button" className="rv-delete" onClick={() => ask({ title: "Delete your comment?", description: comment.parent === null ? "The answers to it go with it. This cannot be undone." : "Nobody sees it any more. This cannot be undone.", action: "Delete comment", run: del })}>
            Delete
          </button>
        )}
      </p>
      <p className="rv-body">{comment.body}</p>
      {dialog}
    </div>
  );
}

function Answer({ thread, draft }: { thread: DraftComment; draft: string }) {
  const { add, change } = useComments(draft);
  const may = useMay("member");
  const [count, setCount] = useState(0); // a sent answer empties the field
  const told = { onError: (error: unknown) => announce(`Not sent: ${messageOf(error)}`, "error") };
  return (
    <div className="rv-answer">
      <Write key={count} label="Reply" placeholder="Reply" action="Reply" busy={add.isPending} onSend={(body) => add.mutate({ body, parent: thread.id }, { ...told, onSuccess: () => setCount(count + 1) })} />
      {(may || thread.is_own) && (
        <Button size="small" keys="x" busy={change.isPending} onClick={() => change.mutate({ id: thread.id, is_resolved: true }, told)}>
          Resolve
        </Button>
      )}
    </div>
  );
}

function Settled({ all, draft }: { all: DraftComment[]; draft: string }) {
  const { change } = useComments(draft);
  const may = useMay("member");
  const settled = all.filter((comment) => comment.parent === null && comment.resolved_at !== null);
  if (settled.length === 0) return null;
  return (
    <details className="rv-settled">
      <summary>{settled.length} resolved</summary>
      <ol className="rv-threads">
        {settled.map((thread) => (
          <li key={thread.id} className="rv-thread">
            {thread.quote && <blockquote data-gone="true">{thread.quote}</blockquote>}
            {[thread, ...all.filter(({ parent }) => parent === thread.id)].map((comment) => (
              <div key={comment.id} className="rv-said">
                <p className="rv-by">
                  <b>{comment.author}</b>
                  <span className="faint">
                    <Ago at={comment.created_at} />
                  </span>
                </p>
                <p className="rv-body">{comment.body}</p>
              </div>
            ))}
            <p className="faint">
              Resolved by {thread.resolved_by}{" "}
              {(may || thread.is_own) && (
                <button type="button" className="rv-delete" onClick={() => change.mutate({ id: thread.id, is_resolved: false })}>
                  Reopen
                </button>
              )}
            </p>
          </li>
        ))}
      </ol>
    </details>
  );
}
