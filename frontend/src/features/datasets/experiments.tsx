import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";

import { Code } from "@/components/code";
import { Grid, type Column } from "@/components/grid";
import { Link } from "@/components/link";
import { Empty, Failure, Skeleton } from "@/components/states";
import { Ago } from "@/components/time";
import { useMedia } from "@/hooks/use-media";
import { useProject } from "@/hooks/use-project";
import type { Experiment } from "@/lib/api/types";
import { formatCost, formatCount, formatDuration } from "@/lib/format";

import { experimentsQuery } from "./api";
import { RunScores } from "./runs";

const EXAMPLE = `langfuse.run_experiment(
    name="capitals",
    data=[{"input": "France", "expected_output": "Paris"}],
    task=lambda *, item, **_: answer(item["input"]),
)`;

/** Runs of every kind, newest first: over datasets, and over data that only the sender has. */
export function Experiments() {
  const { slug } = useProject();
  const [, go] = useLocation();
  const [active, setActive] = useState<number | null>(null);
  const query = useInfiniteQuery(experimentsQuery(slug));
  const rows = (query.data?.pages ?? []).flatMap((page) => page.data);
  const wide = useMedia("(min-width: 1000px)");
  if (query.isPending) return <Skeleton height={40} />;
  if (query.isError && rows.length === 0) return <Failure what="The experiments could not be loaded" error={query.error} retry={() => void query.refetch()} />;
  if (rows.length === 0) return <NoExperiments />;
  const columns = COLUMNS.filter(({ id }) => wide || ["name", "scores"].includes(id));
  return (
    <Grid
      label="Experiments"
      columns={columns}
      rows={rows}
      keyOf={(row) => row.id}
      active={active}
      onActive={setActive}
      onOpen={(row) => go(`/p/${slug}/experiments/${row.id}`)}
      onNearEnd={query.hasNextPage && !query.isFetchingNextPage ? () => void query.fetchNextPage() : undefined}
    />
  );
}

const COLUMNS: Column<Experiment>[] = [
  { id: "name", title: "Experiment", width: "minmax(160px, 2fr)", cell: (row) => <Name row={row} /> },
  { id: "dataset", title: "Dataset", width: "minmax(120px, 1.4fr)", cell: (row) => row.dataset?.name ?? <span className="faint">local data</span> },
  { id: "scores", title: "Scores", width: "minmax(140px, 2fr)", cell: (row) => <RunScores run={row} most={3} /> },
  { id: "items", title: "Items", width: "64px", end: true, cell: (row) => formatCount(row.item_count) },
  { id: "errors", title: "Errors", width: "64px", end: true, cell: (row) => <span className={row.error_count > 0 ? "ds-error" : "faint"}>{formatCount(row.error_count)}</span> },
  { id: "latency", title: "Latency", width: "84px", end: true, cell: (row) => formatDuration(row.duration_ms) },
  { id: "cost", title: "Cost", width: "92px", end: true, cell: (row) => formatCost(row.cost) },
  { id: "started", title: "Started", width: "100px", end: true, cell: (row) => <span className="muted"><Ago at={row.started_at} /></span> },
];

function Name({ row }: { row: Experiment }) {
  const { slug } = useProject();
  return (
    <Link href={`/p/${slug}/experiments/${row.id}`} className="table-name ellipsis ds-name" title={row.description || row.name}>
      {row.name}
    </Link>
  );
}

function NoExperiments() {
  return (
    <Empty title="No experiments yet">
      <p className="ds-balance">An experiment runs a task over inputs and scores what comes out. The Langfuse SDK makes one, over a dataset or over a list:</p>
      <div className="ds-code">
        <Code text={EXAMPLE} label="Copy the example" />
      </div>
    </Empty>
  );
}
