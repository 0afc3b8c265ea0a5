import "./sessions.css";

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation, useParams } from "wouter";

import { Button } from "@/components/button";
import { Grid, type Column } from "@/components/grid";
import { Link } from "@/components/link";
import { Page } from "@/components/page";
import { Failure, Loaded, Skeleton } from "@/components/states";
import { useRows } from "@/components/lists/use-rows";
import { GroupFigures } from "./group-figures";
import { useHotkey } from "@/hooks/use-hotkey";
import { useIsPhone } from "@/hooks/use-media";
import { useProject } from "@/hooks/use-project";
import { api, inProject, withQuery } from "@/lib/api/client";
import type { Group, TraceRow } from "@/lib/api/types";
import { formatCost, formatDuration, formatMoment, formatTime, UNKNOWN } from "@/lib/format";
import { inPath, outOfPath } from "@/lib/paths";

const EVER = "2000-01-01T00:00:00Z";
const PATH = ["traces"];
const PHONE = ["time", "name", "output"];

/** What a user did: sums, and their traces. */
export default function UserPage() {
  const { slug } = useProject();
  const [, go] = useLocation();
  const id = outOfPath(useParams<{ "*": string }>()["*"] ?? "");
  const user = useQuery({
    queryKey: ["project", slug, "users", "one", id],
    queryFn: ({ signal }) => api.get<Group>(withQuery(inProject(slug, "users", id), { from: EVER }), signal),
  });
  const list = useRows<TraceRow>({ project: slug, path: PATH, search: `user of ${id}`, query: () => new URLSearchParams({ from: EVER, user: id }) });
  const [active, setActive] = useState<number | null>(null);
  const phone = useIsPhone();
  useHotkey("Escape", "Back to the users", () => go(`/p/${slug}/users`));
  return (
    <Page title={id} path={[{ title: "Users", href: `/p/${slug}/users` }]} actions={<Button onClick={() => go(`/p/${slug}/traces?user=${encodeURIComponent(id)}&range=30d`)}>Show as traces</Button>}>
      <Loaded query={user} what="The user" skeleton={<Skeleton rows={1} />}>
        {(group) => <GroupFigures group={group} user />}
      </Loaded>
      {list.isPending && <Skeleton rows={12} />}
      {list.isLoadingError && <Failure what="The traces could not be loaded" error={list.error} retry={() => void list.refetch()} />}
      {list.rows.length > 0 && (
        <Grid
          label={`Traces of ${id}`}
          rows={list.rows}
          columns={columnsOf(slug).filter(({ id }) => !phone || PHONE.includes(id))}
          keyOf={(row) => row.id}
          rowHeight={32}
          active={active}
          onActive={setActive}
          onOpen={(row) => go(`/p/${slug}/traces/${row.id}`)}
          onNearEnd={list.hasNextPage && !list.isFetchingNextPage ? () => void list.fetchNextPage() : undefined}
          onTop={list.onTop}
        />
      )}
    </Page>
  );
}

const columnsOf = (slug: string): Column<TraceRow>[] => [
  { id: "time", title: "Time", width: "84px", cell: (row) => <time dateTime={row.started_at} title={formatMoment(row.started_at)}>{formatTime(row.started_at)}</time> },
  { id: "name", title: "Name", width: "minmax(90px, 0.8fr)", cell: (row) => <Link href={`/p/${slug}/traces/${row.id}`} className="table-name" tabIndex={-1}>{row.name}</Link> },
  { id: "input", title: "Input", width: "minmax(90px, 1.6fr)", cell: (row) => row.input_preview ?? UNKNOWN },
  { id: "output", title: "Output", width: "minmax(90px, 1.6fr)", cell: (row) => row.output_preview ?? UNKNOWN },
  { id: "session", title: "Session", width: "minmax(70px, 0.6fr)", cell: (row) => (row.session_id ? <Link href={`/p/${slug}/sessions/${inPath(row.session_id)}`} tabIndex={-1} className="table-name">{row.session_id}</Link> : UNKNOWN) },
  { id: "latency", title: "Latency", width: "72px", end: true, cell: (row) => formatDuration(row.duration_ms) },
  { id: "cost", title: "Cost", width: "92px", end: true, cell: (row) => formatCost(row.cost) },
];
