import "./review.css";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useMemo, type ReactNode } from "react";

import { useHotkey } from "@/hooks/use-hotkey";
import { useLive } from "@/hooks/use-live";
import { useMay, useProject } from "@/hooks/use-project";
import { useUrl } from "@/hooks/use-url";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";

import { commentsQuery, refreshReview, useComments } from "./review-api";
import { ReviewContext, ReviewStore, useReviewState } from "./review-store";
import type { Room } from "./room";

const SETTLED_MS = 800;

/** What editors and panels of a draft share of its review: comments live, their keys, the selection. */
export function ReviewScope({ room, draft, children }: { room: Room; draft: string; children: ReactNode }) {
  const { slug } = useProject();
  const queries = useQueryClient();
  const store = useMemo(() => new ReviewStore(room), [room]);
  const comments = useQuery(commentsQuery(slug, draft));
  useLive(slug, "review.changed", (told) => {
    if (told.draft === draft) void refreshReview(queries, slug, draft);
  });
  useEffect(() => store.setThreads(comments.data ?? []), [store, comments.data]);
  useEffect(() => afterEdits(room, () => {
    store.setThreads(comments.data ?? []);
    void queries.invalidateQueries({ queryKey: ["project", slug, "drafts", draft, "proposal"] });
  }), [room, store, comments.data, queries, slug, draft]);
  useReviewKeys(store, draft);
  return <ReviewContext value={store}>{children}</ReviewContext>;
}

/** Calls back when nobody has typed for a moment: places and approvals may be others then. */
function afterEdits(room: Room, run: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const edited = () => {
    clearTimeout(timer);
    timer = setTimeout(run, SETTLED_MS);
  };
  room.document.on("update", edited);
  return () => {
    clearTimeout(timer);
    room.document.off("update", edited);
  };
}

function useReviewKeys(store: ReviewStore, draft: string): void {
  const [, change] = useUrl();
  const may = useMay("member");
  const { threads, current } = useReviewState(store);
  const { change: settle } = useComments(draft);
  const openTab = () => change({ tab: "review" });
  const comment = () => {
    store.startComment();
    openTab();
  };
  const step = (by: 1 | -1) => {
    openTab();
    if (!store.step(by)) announce("There are no open comments");
  };
  const resolve = () => {
    const thread = threads.find(({ id }) => id === current);
    if (!thread || !(may || thread.is_own)) return;
    settle.mutate({ id: thread.id, is_resolved: true }, { onSuccess: () => announce("Thread resolved"), onError: (error) => announce(`Not resolved: ${messageOf(error)}`, "error") });
    store.step(1);
  };
  const asked = useEffectEvent(comment);
  useEffect(() => store.commentBy(() => asked()), [store]);
  useHotkey("m", "Comment on the selection", comment);
  useHotkey("mod+m", "Comment on the selection, while writing", comment, { inFields: true });
  useHotkey("j", "Next comment", () => step(1), { enabled: threads.length > 0 });
  useHotkey("k", "Previous comment", () => step(-1), { enabled: threads.length > 0 });
  useHotkey("x", "Resolve the comment", resolve, { enabled: current !== null });
}
