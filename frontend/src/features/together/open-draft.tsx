import { useQueryClient } from "@tanstack/react-query";
import { DoorClosed } from "lucide-react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";

import { Badge } from "@/components/badge";
import { Button } from "@/components/button";
import { CopyButton } from "@/components/copy";
import { Page } from "@/components/page";
import { Empty, Skeleton } from "@/components/states";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { useUrlValue } from "@/hooks/use-url";
import { announce } from "@/lib/announce";
import { promptHref } from "@/lib/api/prompts";
import { sessionQuery } from "@/lib/api/queries";
import type { Draft } from "@/lib/api/types";

import { CoMessages } from "./co-messages";
import { CoText } from "./co-text";
import { FollowBar, useFollowing, useTellTop } from "./follow";
import { pathOf } from "./links";
import { Side } from "./panels";
import { PastState } from "./past";
import { People } from "./people";
import { PublishBar } from "./publish-bar";
import { mergeWithOf } from "./review-api";
import { ReviewScope } from "./review-scope";
import type { Room, RoomState } from "./room";
import { useRoom } from "./use-room";
import { messagesOf } from "./variables";

const MergeView = lazy(() => import("./merge-view"));

/** The room of a draft; its editor is large, so it is a file of its own. */
export default function OpenDraft(props: { name: string; draft: Draft }) {
  const [count, setCount] = useState(0);
  return <OneRoom key={count} {...props} onAgain={() => setCount(count + 1)} />;
}

function OneRoom({ name, draft, onAgain }: { name: string; draft: Draft; onAgain: () => void }) {
  const { slug } = useProject();
  const opened = useRoom(draft);
  useRoleSaid(opened?.state.roleSaid ?? null);
  return (
    <Page title="Write together" path={pathOf(slug, name)} aside={draft.name !== "main" && <Badge>{draft.name}</Badge>} actions={opened && <People people={opened.state.people} line={opened.state.line} />}>
      {opened?.state.reason ? <SentAway name={name} {...opened} onAgain={onAgain} /> : opened?.state.isSynced ? <ReviewScope room={opened.room} draft={draft.id}><Desk {...opened} draft={draft} name={name} /></ReviewScope> : <Skeleton rows={6} />}
    </Page>
  );
}

/** Another role shows at once: what may not be written any more cannot be typed. */
function useRoleSaid(said: string | null): void {
  const client = useQueryClient();
  useEffect(() => {
    if (said === null) return;
    announce(said, "error");
    void client.invalidateQueries(sessionQuery);
  }, [client, said]);
}

/** What was not taken is shown once more: it is in nobody else's document. */
function SentAway({ name, room, state, onAgain }: { name: string; room: Room; state: RoomState; onAgain: () => void }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  return (
    <Empty icon={<DoorClosed size={24} />} title={state.mayReturn ? "The room did not take your last edit" : "This room is closed to you"}>
      <p>{state.reason}. What you had written is in this tab until you close it.</p>
      <div className="form-actions">
        {state.mayReturn && (
          <Button variant="primary" onClick={onAgain}>
            Open what the room has
          </Button>
        )}
        <CopyButton wide text={() => textOf(room)} label="Copy what you had" />
        <Button onClick={() => go(promptHref(slug, name))}>The prompt and its versions</Button>
      </div>
    </Empty>
  );
}

const textOf = (room: Room): string =>
  messagesOf(room)
    .map(({ content }) => content)
    .join("\n\n");

function Desk({ room, state, draft, name }: { room: Room; state: RoomState; draft: Draft; name: string }) {
  const may = useMay("member");
  const [merging, setMerging] = useUrlValue("merge");
  const [at, setAt] = useUrlValue("at");
  const source = mergeWithOf(merging);
  const isPast = at !== null && source === null;
  const desk = useRef<HTMLDivElement>(null);
  useTellTop(room, desk);
  useFollowing(room, state, desk);
  useHotkey("mod+z", "Undo what you did; with Shift do it again", ({ shiftKey }) => void (shiftKey ? room.undo.redo() : room.undo.undo()), { enabled: may });
  return (
    <div className="t-desk">
      {isPast && (
        <div className="t-editor">
          <PastState draft={draft.id} seq={Number(at)} onLeave={() => setAt(null)} />
        </div>
      )}
      {source && (
        <Suspense fallback={<Skeleton rows={6} />}>
          <MergeView draft={draft} source={source} room={room} onClose={() => setMerging(null, true)} />
        </Suspense>
      )}
      <div className="t-editor" ref={desk} hidden={source !== null || isPast}>
        <FollowBar room={room} state={state} />
        {state.isChat ? (
          <CoMessages room={room} readOnly={!may} />
        ) : (
          <section className="t-message t-message-text" aria-label="Text">
            <CoText room={room} text={room.text} label="Text of the prompt" placeholder="Write the prompt. {{name}} is filled in by the caller." readOnly={!may} />
          </section>
        )}
        {may ? <PublishBar draft={draft.id} ready={state.line === "open"} /> : <p className="t-viewer faint">You may read along; writing needs the role member.</p>}
      </div>
      <Side room={room} state={state} draft={draft} name={name} />
    </div>
  );
}
