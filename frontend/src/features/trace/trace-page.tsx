import "./trace.css";

import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { ChevronDown, ChevronUp, FlaskConical } from "lucide-react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { useLocation, useParams } from "wouter";

import { Badge } from "@/components/badge";
import { Button, IconButton } from "@/components/button";
import { Page } from "@/components/page";
import { Split } from "@/components/splitter";
import { Failure, Skeleton } from "@/components/states";
import { useHotkey } from "@/hooks/use-hotkey";
import { useLive } from "@/hooks/use-live";
import { useIsPhone } from "@/hooks/use-media";
import { useProject } from "@/hooks/use-project";
import { useUrl } from "@/hooks/use-url";
import { ApiError } from "@/lib/api/client";
import { observationQuery, restQuery, traceQuery } from "@/lib/api/queries";
import type { Observation, TraceDetail } from "@/lib/api/types";
import { mainOf, playgroundAddress } from "@/lib/call";
import { formatMoment, formatTime } from "@/lib/format";
import { axisOf, flatten } from "@/lib/tree";

import { ObservationView } from "./observation-view";
import { TraceFacts } from "./trace-facts";
import { TraceMenu } from "./trace-menu";
import { TraceTree } from "./trace-tree";
import { useNeighbors } from "./use-neighbors";

const NONE: ReadonlySet<string> = new Set();

export default function TracePage() {
  const { slug } = useProject();
  const traceId = useParams<{ traceId: string }>().traceId;
  const queries = useQueryClient();
  const query = useQuery(traceQuery(slug, traceId));
  // Its observations may still be coming in.
  useLive(slug, "traces", ({ rows }) => {
    if (rows.some((row) => row.id === traceId)) void queries.invalidateQueries({ queryKey: traceQuery(slug, traceId).queryKey });
  });
  const path = [{ title: "Traces", href: `/p/${slug}/traces` }];
  if (query.data) return <Loaded key={traceId} detail={query.data} path={path} />;
  const missing = query.error instanceof ApiError && query.error.status === 404;
  return (
    <Page title={missing ? "No such trace" : "Trace"} path={path}>
      {query.isPending && <Skeleton rows={12} />}
      {query.error && <Failure what={missing ? "There is no such trace" : "The trace could not be loaded"} error={query.error} retry={() => void query.refetch()} />}
    </Page>
  );
}

function Loaded({ detail, path }: { detail: TraceDetail; path: { title: string; href: string }[] }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const [params, change] = useUrl();
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(NONE);
  const { trace } = detail;
  const { observations, cut } = useObservations(detail);
  const rows = useMemo(() => flatten(observations, collapsed), [observations, collapsed]);
  const totalMs = useMemo(() => axisOf(observations).totalMs, [observations]);
  const main = useMemo(() => mainOf(detail.observations), [detail]);
  const asked = params.get("o");
  const listed = useMemo(() => (asked === null ? undefined : observations.find((o) => o.id === asked)), [observations, asked]) ?? main;
  const selected = useWhole(trace.id, listed, detail);
  const { newer, older } = useNeighbors(trace.id);
  const select = useCallback((id: string) => change({ o: id }), [change]);
  const openTrace = (id: string | null) => id && go(`/p/${slug}/traces/${id}`);
  const playground = playgroundAddress(slug, trace.id, selected?.id);

  useHotkey("[", "Newer trace", () => openTrace(newer), { enabled: newer !== null });
  useHotkey("]", "Older trace", () => openTrace(older), { enabled: older !== null });
  useHotkey("r", "Open in the playground", () => go(playground));
  useHotkey("Escape", "Back to the traces", () => go(listAddress(slug, trace.id)));

  const tree = <TraceTree cut={cut} rows={rows} totalMs={totalMs} selected={selected?.id ?? null} onSelect={select} collapsed={collapsed} onCollapsed={setCollapsed} />;
  const view = selected ? <ObservationView trace={trace} observation={selected} all={observations} /> : null;
  return (
    <Page
      title={trace.name}
      path={path}
      aside={
        <>
          {trace.status === "error" && <Badge tone="error">error</Badge>}
          <time className="trace-time faint" dateTime={trace.started_at} title={formatMoment(trace.started_at)}>
            {formatTime(trace.started_at)}
          </time>
        </>
      }
      actions={
        <>
          <span className="trace-steps">
            <IconButton label="Newer trace" keys="[" icon={<ChevronUp size={16} />} disabled={!newer} onClick={() => openTrace(newer)} />
            <IconButton label="Older trace" keys="]" icon={<ChevronDown size={16} />} disabled={!older} onClick={() => openTrace(older)} />
          </span>
          <TraceMenu trace={trace} observation={selected} />
          <OpenInPlayground href={playground} />
        </>
      }
    >
      <TraceFacts trace={trace} />
      {observations.length === 0 ? <Failure what="This trace has no observations yet" error="They arrive in batches; try again in a moment." /> : <Split name="trace" label="Width of the tree" initial={0.42} first={tree} second={view} />}
    </Page>
  );
}

function OpenInPlayground({ href }: { href: string }) {
  const [, go] = useLocation();
  const phone = useIsPhone();
  if (phone) return <IconButton label="Open in the playground" icon={<FlaskConical size={16} />} onClick={() => go(href)} />;
  return (
    <Button icon={<FlaskConical size={15} />} onClick={() => go(href)}>
      Open in playground
    </Button>
  );
}

/** The observations that are here so far; the rest comes in portions while the first are read. */
function useObservations(detail: TraceDetail): { observations: Observation[]; cut: boolean } {
  const { slug } = useProject();
  const { data, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery(restQuery(slug, detail.trace.id, detail.next_cursor));
  useEffect(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  const observations = useMemo(() => [...detail.observations, ...(data?.pages.flatMap((page) => page.observations) ?? [])], [detail, data]);
  return { observations, cut: detail.next_cursor !== null && !hasNextPage && (data?.pages.at(-1)?.next_cursor ?? null) !== null };
}

/** An observation with its payloads: those after the first ones are read when they are looked at. */
function useWhole(trace: string, listed: Observation | undefined, detail: TraceDetail): Observation | undefined {
  const { slug } = useProject();
  const isLight = listed !== undefined && !detail.observations.includes(listed);
  const { data } = useQuery({ ...observationQuery(slug, trace, listed?.id ?? ""), enabled: isLight });
  return isLight ? (data?.id === listed.id ? data : listed) : listed;
}

/** The list as it was left, with this trace selected. */
function listAddress(slug: string, traceId: string): string {
  let params = new URLSearchParams();
  try {
    params = new URLSearchParams(JSON.parse(localStorage.getItem("hone.traces.list") ?? '""') as string);
  } catch {
    // A broken preference costs nothing: the plain list opens.
  }
  params.set("row", traceId);
  return `/p/${slug}/traces?${params}`;
}
