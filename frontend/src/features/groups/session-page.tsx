import "./sessions.css";

import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useLocation, useParams } from "wouter";

import { Badge } from "@/components/badge";
import { Button } from "@/components/button";
import { JsonTree } from "@/components/json-tree";
import { Link } from "@/components/link";
import { Page } from "@/components/page";
import { Loaded, Skeleton } from "@/components/states";
import { Turn as TurnView } from "@/components/turn";
import { useHotkey } from "@/hooks/use-hotkey";
import { useProject } from "@/hooks/use-project";
import { ApiError, api, inProject, withQuery } from "@/lib/api/client";
import type { SessionDetail, SessionTurn } from "@/lib/api/types";
import { turnsOf } from "@/lib/conversation";
import { formatCost, formatDuration, formatMoment, formatTime } from "@/lib/format";
import { outOfPath } from "@/lib/paths";

import { GroupFigures } from "./group-figures";

const EVER = "2000-01-01T00:00:00Z";

/** A session as the conversation that its traces are. */
export default function SessionPage() {
  const { slug } = useProject();
  const [, go] = useLocation();
  const id = outOfPath(useParams<{ "*": string }>()["*"] ?? "");
  const query = useInfiniteQuery({
    queryKey: ["project", slug, "sessions", "one", id],
    queryFn: ({ pageParam, signal }) => api.get<SessionDetail>(withQuery(inProject(slug, "sessions", id), { from: EVER, limit: 20, cursor: pageParam }), signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
  const path = [{ title: "Sessions", href: `/p/${slug}/sessions` }];
  useHotkey("Escape", "Back to the sessions", () => go(`/p/${slug}/sessions`));
  const missing = query.error instanceof ApiError && query.error.status === 404;
  return (
    <Page title={missing ? "No such session" : id} path={path} actions={<Button onClick={() => go(`/p/${slug}/traces?session=${encodeURIComponent(id)}&range=30d`)}>Show as traces</Button>}>
      <Loaded query={query} what="The session" skeleton={<Skeleton rows={10} />}>
        {({ pages }) => (
          <>
            <GroupFigures group={pages[0]!.session} />
            <Conversation turns={pages.flatMap((page) => page.turns)} more={query.hasNextPage} loading={query.isFetchingNextPage} onMore={() => void query.fetchNextPage()} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Conversation({ turns, more, loading, onMore }: { turns: SessionTurn[]; more: boolean; loading: boolean; onMore: () => void }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const [active, setActive] = useState<number | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const move = (step: number) => setActive((now) => Math.min(turns.length - 1, Math.max(0, (now ?? -1) + step)));
  useEffect(() => {
    if (active !== null) box.current?.children[active]?.scrollIntoView({ block: "start" });
  }, [active]);
  const chosen = active === null ? undefined : turns[active];
  useHotkey("j", "Next trace", () => move(1));
  useHotkey("k", "Previous trace", () => move(-1));
  useHotkey("Enter", "Open the trace", () => chosen && go(`/p/${slug}/traces/${chosen.trace.id}`), { enabled: chosen !== undefined });
  return (
    <div className="session-turns" ref={box} tabIndex={0} role="region" aria-label="Conversation">
      {turns.map((turn, index) => (
        <TraceTurns key={turn.trace.id} turn={turn} before={turns[index - 1]} active={index === active} />
      ))}
      {more && (
        <div className="session-more">
          <Button busy={loading} onClick={onMore}>
            Show later traces
          </Button>
        </div>
      )}
    </div>
  );
}

function TraceTurns({ turn, before, active }: { turn: SessionTurn; before: SessionTurn | undefined; active: boolean }) {
  const { slug } = useProject();
  const { trace, input, output } = turn;
  return (
    <article className="session-trace" data-active={active} aria-label={trace.name}>
      <header>
        <Link href={`/p/${slug}/traces/${trace.id}`} className="table-name">
          {trace.name}
        </Link>
        {trace.status === "error" && <Badge tone="error">error</Badge>}
        <time dateTime={trace.started_at} title={formatMoment(trace.started_at)}>
          {formatTime(trace.started_at)}
        </time>
        <span className="num">
          {formatDuration(trace.duration_ms)} · {formatCost(trace.cost)}
        </span>
      </header>
      <Said value={newIn(input, before?.input)} role="user" />
      <Said value={output} role="assistant" />
    </article>
  );
}

/** A chat sends its whole history each time: what stood in the trace before is not said again. */
function newIn(input: unknown, before: unknown): unknown {
  if (!Array.isArray(input) || !Array.isArray(before)) return input;
  let same = 0;
  while (same < before.length && JSON.stringify(input[same]) === JSON.stringify(before[same])) same++;
  const rest = input.slice(same).filter((message) => (message as { role?: string }).role !== "assistant");
  return rest.length > 0 ? rest : input.slice(-1);
}

function Said({ value, role }: { value: unknown; role: "user" | "assistant" }) {
  if (value === null || value === undefined) return null;
  const turns = turnsOf(value, role);
  if (!turns) return <JsonTree value={value} open={2} />;
  return turns.map((turn, index) => <TurnView key={index} turn={turn} reading="markdown" />);
}
