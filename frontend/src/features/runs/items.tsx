import { useEffect, useState } from "react";

import { Grid, type Column } from "@/components/grid";
import { Tabs } from "@/components/tabs";
import { Empty, Failure, Skeleton } from "@/components/states";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMedia } from "@/hooks/use-media";
import { useUrl } from "@/hooks/use-url";
import type { Run, RunItem } from "@/lib/api/types";
import { formatCount } from "@/lib/format";

import { ItemPanel, TraceLink } from "./item-panel";
import { isOpen, oneLine, variablesLine } from "./progress";
import { State } from "./run-state";
import { useItems, type Shown } from "./use-items";

const shownOf = (value: string | null): Shown => (value === "done" || value === "failed" ? value : "all");

/** The inputs with their answers; one of them may be open at the side. */
export function Items({ run }: { run: Run }) {
  const [params] = useUrl();
  const shown = shownOf(params.get("tab"));
  const query = useItems(run, shown);
  const { rows } = query;
  const { active, opened, open, select } = useOpened(query);
  const none = query.isSuccess && rows.length === 0 && !query.hasNextPage;
  return (
    <>
      <Tabs
        label="Inputs by state"
        current={shown}
        tabs={[
          { id: "all", label: "All", count: run.total },
          { id: "done", label: "Answered", count: run.done },
          { id: "failed", label: "Failed", count: run.failed },
        ]}
      />
      <div className="run-items">
        <div className="run-items-list">
          {query.isPending && <Skeleton rows={12} height={36} />}
          {query.isError && rows.length === 0 && <Failure what="The inputs could not be loaded" error={query.error} retry={() => void query.refetch()} />}
          {none ? (
            <Empty title={NONE[shown]} />
          ) : (
            <ItemsGrid rows={rows} total={shown === "all" ? run.total : run[shown]} active={active} onActive={select} onOpen={open} narrow={opened !== undefined} query={query} />
          )}
        </div>
        {opened && <ItemPanel item={opened} running={isOpen(run)} onClose={() => open(undefined)} />}
      </div>
    </>
  );
}

/** Which row has the cursor and which one is open; the open one is in the address, and is gone for where it is not here yet. */
function useOpened({ rows, hasNextPage, isFetching, fetchNextPage }: ReturnType<typeof useItems>) {
  const [params, change] = useUrl();
  const [cursor, setCursor] = useState<number | null>(null);
  const asked = params.get("item");
  const place = asked === null ? -1 : rows.findIndex((item) => String(item.index) === asked);
  const active = place >= 0 ? place : cursor;
  const opened = rows[place];
  const isAhead = asked !== null && place < 0 && Number(asked) > (rows.at(-1)?.index ?? Infinity);
  useEffect(() => {
    if (isAhead && hasNextPage && !isFetching) void fetchNextPage();
  }, [isAhead, hasNextPage, isFetching, fetchNextPage]);

  const open = (item: RunItem | undefined) => change({ item: item ? item.index : null });
  const select = (index: number) => {
    setCursor(index);
    if (opened) open(rows[index]);
  };
  useHotkey("Space", "Open or close the row", () => open(opened ? undefined : rows[active ?? 0]), { enabled: rows.length > 0 });
  useHotkey("]", "Next input", () => select(Math.min(rows.length - 1, place + 1)), { enabled: opened !== undefined });
  useHotkey("[", "Previous input", () => select(Math.max(0, place - 1)), { enabled: opened !== undefined });
  useHotkey("Escape", "Close the row", () => open(undefined), { enabled: asked !== null });
  return { active, opened, open, select };
}

const NONE: Record<Shown, string> = { all: "This run has no inputs", done: "No input has an answer yet", failed: "No input failed" };

interface GridProps {
  rows: RunItem[];
  total: number;
  active: number | null;
  onActive: (index: number) => void;
  onOpen: (item: RunItem) => void;
  narrow: boolean;
  query: ReturnType<typeof useItems>;
}

function ItemsGrid({ narrow, query, ...rest }: GridProps) {
  const middle = useMedia("(min-width: 720px)");
  const wide = useMedia("(min-width: 1180px)") && !narrow;
  const columns = COLUMNS.filter(({ id }) => (wide || id !== "attempt") && (middle || id === "output" || id === "index"));
  if (query.isPending || (query.isError && rest.rows.length === 0)) return null;
  return (
    <Grid
      label="Inputs and answers"
      columns={columns}
      rowHeight={36}
      keyOf={(item) => item.index}
      onNearEnd={query.hasNextPage && !query.isFetchingNextPage ? () => void query.fetchNextPage() : undefined}
      {...rest}
    />
  );
}

const COLUMNS: Column<RunItem>[] = [
  { id: "index", title: "#", width: "64px", cell: (item) => <IndexCell item={item} /> },
  { id: "variables", title: "Variables", width: "minmax(140px, 2fr)", cell: (item) => <Variables item={item} /> },
  { id: "output", title: "Answer", width: "minmax(160px, 3fr)", cell: (item) => <Output item={item} /> },
  { id: "attempt", title: "Attempts", width: "60px", end: true, cell: ({ attempt }) => <span className={attempt > 1 ? "" : "faint"}>{attempt === 0 ? "—" : attempt}</span> },
  { id: "trace", title: "Trace", width: "40px", cell: (item) => <TraceLink item={item} /> },
];

/** Inputs are numbered from 0, as in the files that come out. */
function IndexCell({ item }: { item: RunItem }) {
  return (
    <span className="run-index">
      <State state={item.state} />
      <span className="faint">{formatCount(item.index)}</span>
    </span>
  );
}

function Variables({ item }: { item: RunItem }) {
  const parts = variablesLine(item.variables);
  return (
    <span className="run-variables" title={parts.map((p) => (p.name ? `${p.name}: ${p.value}` : p.value)).join("\n")}>
      {parts.map(({ name, value }) => (
        <span key={name ?? ""}>
          {name && <span className="faint">{name} </span>}
          {value}
        </span>
      ))}
    </span>
  );
}

function Output({ item }: { item: RunItem }) {
  if (item.error) return <span className="run-failed" title={item.error}>{oneLine(item.error)}</span>;
  if (item.output === null) return <span className="faint">—</span>;
  return item.output.trim() === "" ? <span className="faint">Empty answer</span> : oneLine(item.output);
}
