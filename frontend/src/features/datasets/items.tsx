import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";

import { Badge } from "@/components/badge";
import { Grid, type Column } from "@/components/grid";
import { SearchField } from "@/components/search-field";
import { Empty, Failure, Skeleton } from "@/components/states";
import { Ago } from "@/components/time";
import { useMedia } from "@/hooks/use-media";
import { useProject } from "@/hooks/use-project";
import { useUrl } from "@/hooks/use-url";
import type { Dataset, DatasetItem } from "@/lib/api/types";
import { toLine } from "@/lib/json-text";

import { itemsQuery } from "./api";
import { ItemPanel } from "./item-panel";

/** The items, newest first; one of them may be open at the side. */
export function Items({ dataset }: { dataset: Dataset }) {
  const { slug } = useProject();
  const [params, change] = useUrl();
  const q = params.get("q") ?? "";
  const query = useInfiniteQuery({ ...itemsQuery(slug, dataset.id, q), placeholderData: (previous) => previous });
  const rows = (query.data?.pages ?? []).flatMap((page) => page.data);
  const more = query.hasNextPage && !query.isFetchingNextPage;
  if (query.isPending) return <Skeleton rows={10} height={40} />;
  if (query.isError && rows.length === 0) return <Failure what="The items could not be loaded" error={query.error} retry={() => void query.refetch()} />;
  return (
    <>
      <div className="ds-bar">
        <SearchField label="Search items" placeholder="Text of an input or expectation" value={q} onChange={(value) => change({ q: value || null })} onEnter={() => rows[0] && change({ item: rows[0].id })} />
      </div>
      {rows.length === 0 ? <NoItems q={q} /> : <ItemsAndPanel dataset={dataset} rows={rows} onNearEnd={more ? () => void query.fetchNextPage() : undefined} />}
    </>
  );
}

function ItemsAndPanel({ dataset, rows, onNearEnd }: { dataset: Dataset; rows: DatasetItem[]; onNearEnd?: () => void }) {
  const [params, change] = useUrl();
  const [cursor, setCursor] = useState<number | null>(null);
  const opened = rows.find((row) => row.id === params.get("item"));
  const open = (row: DatasetItem | undefined) => change({ item: row?.id ?? null });
  const select = (index: number) => {
    setCursor(index);
    if (opened) open(rows[index]);
  };
  return (
    <div className="ds-items">
      <ItemsGrid rows={rows} narrow={opened !== undefined} active={opened ? rows.indexOf(opened) : cursor} onActive={select} onOpen={open} onNearEnd={onNearEnd} />
      {opened && <ItemPanel key={opened.id} dataset={dataset.id} item={opened} onClose={() => open(undefined)} />}
    </div>
  );
}

function NoItems({ q }: { q: string }) {
  if (q) return <Empty title={`No item holds “${q}”`} />;
  return (
    <Empty title="No items yet">
      <p className="ds-balance">Write one with “New item”, or add what you see in a trace: its menu has “Add to a dataset” (d). An application adds items through the API.</p>
    </Empty>
  );
}

interface GridProps {
  rows: DatasetItem[];
  narrow: boolean;
  active: number | null;
  onActive: (index: number) => void;
  onOpen: (row: DatasetItem) => void;
  onNearEnd?: () => void;
}

function ItemsGrid({ narrow, ...props }: GridProps) {
  const wide = useMedia("(min-width: 900px)");
  const columns = COLUMNS.filter(({ id }) => id === "input" || (wide && !narrow) || (id === "expected" && wide));
  return <Grid label="Items" columns={columns} keyOf={(row) => row.id} {...props} />;
}

const COLUMNS: Column<DatasetItem>[] = [
  { id: "input", title: "Input", width: "minmax(160px, 3fr)", cell: (row) => <Line value={row.input} archived={row.status === "ARCHIVED"} /> },
  { id: "expected", title: "Expected output", width: "minmax(140px, 2fr)", cell: (row) => <Line value={row.expected_output} /> },
  { id: "changed", title: "Changed", width: "100px", end: true, cell: (row) => <span className="muted"><Ago at={row.updated_at} /></span> },
];

function Line({ value, archived }: { value: unknown; archived?: boolean }) {
  const line = toLine(value);
  return (
    <span className="ds-line ellipsis" title={line}>
      {archived && <Badge>archived</Badge>} {line || <span className="faint">—</span>}
    </span>
  );
}
