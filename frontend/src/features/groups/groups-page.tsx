import "@/components/lists/list.css";

import { SearchX } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";

import { Button } from "@/components/button";
import { Grid, type Column } from "@/components/grid";
import { Page } from "@/components/page";
import { Empty, Failure, Skeleton } from "@/components/states";
import { FilterBar } from "@/components/lists/filter-bar";
import { HistogramSlot } from "@/components/lists/histogram-slot";
import { ListMenu } from "@/components/lists/list-menu";
import { ListTabs } from "@/components/lists/list-tabs";
import { LiveMark } from "@/components/lists/live-mark";
import { Newer } from "@/components/lists/newer";
import { RangePicker } from "@/components/lists/range-picker";
import { useColumns } from "@/components/lists/use-columns";
import { useListFilters } from "@/components/lists/use-list-filters";
import { useRows } from "@/components/lists/use-rows";
import { useIsPhone } from "@/hooks/use-media";
import { useProject } from "@/hooks/use-project";
import type { Group } from "@/lib/api/types";
import { encodeFilters, toQuery, type Field, type TraceFilters } from "@/lib/filters";
import { inPath } from "@/lib/paths";

import { groupColumns, PHONE, USUAL, type GroupKind } from "./group-columns";

const NO_FIELDS: readonly Field[] = [];
const PATHS = { sessions: ["sessions"], users: ["users"] };
const TEXTS = {
  sessions: { title: "Sessions", one: "session", id: "session", row: "a conversation" },
  users: { title: "Users", one: "user", id: "user", row: "each user" },
};

/** Sessions or users, the one that was active last first. */
export function GroupsPage({ kind }: { kind: GroupKind }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const [filters, setFilters] = useListFilters(NO_FIELDS);
  const list = useRows<Group>({ project: slug, path: PATHS[kind], search: encodeFilters(filters).toString(), query: () => toQuery(filters, Date.now()) });
  const phone = useIsPhone();
  const all = useMemo(() => groupColumns(kind, slug), [kind, slug]);
  const chosen = useColumns(kind, all, USUAL[kind]);
  const ids = phone ? PHONE : chosen.ids;
  const [active, setActive] = useState<number | null>(null);
  const frame = useRef<HTMLDivElement>(null);
  const { title } = TEXTS[kind];
  return (
    <Page
      title={title}
      aside={<LiveMark project={slug} />}
      actions={
        <>
          <ListMenu page={kind} columns={all} shown={chosen} />
          <RangePicker filters={filters} onChange={setFilters} />
        </>
      }
    >
      <ListTabs current={kind} />
      <FilterBar label={`Search ${kind} by id`} names={NO_FIELDS} filters={filters} onChange={setFilters} />
      <HistogramSlot project={slug} filters={{ ...filters, q: "" }} onChange={({ from, to }) => setFilters({ ...filters, range: "", from, to })} />
      <div className="list-body">
        <div className="list-rows">
          {list.isPending && <Skeleton rows={12} height={36} />}
          {list.isLoadingError && <Failure what={`The ${kind} could not be loaded`} error={list.error} retry={() => void list.refetch()} />}
          {list.isSuccess && list.rows.length === 0 && <None kind={kind} filters={filters} onChange={setFilters} />}
          {list.rows.length > 0 && (
            <div className="list-beside" ref={frame}>
              <Newer shown={list.newer} onShow={() => (frame.current?.querySelector(".grid")?.scrollTo({ top: 0 }), list.showNewer())} />
              <Grid
                label={title}
                rows={list.rows}
                columns={all.filter((column) => ids.includes(column.id)) as Column<Group>[]}
                keyOf={(row) => row.id}
                rowHeight={36}
                active={active}
                onActive={setActive}
                onOpen={(row) => go(`/p/${slug}/${kind}/${inPath(row.id)}`)}
                onNearEnd={list.hasNextPage && !list.isFetchingNextPage ? () => void list.fetchNextPage() : undefined}
                onTop={list.onTop}
              />
            </div>
          )}
        </div>
      </div>
    </Page>
  );
}

function None({ kind, filters, onChange }: { kind: GroupKind; filters: TraceFilters; onChange: (filters: TraceFilters) => void }) {
  const { one, id, row } = TEXTS[kind];
  return (
    <Empty icon={<SearchX size={24} />} title={filters.q ? `No ${one} fits this search` : `No ${kind} in this range`}>
      <p>
        Give your traces a {id} id (<code>{id}.id</code> or <code>langfuse.{id}.id</code>) and {row} becomes one row here.
      </p>
      <div className="form-actions">
        {filters.q && <Button onClick={() => onChange({ ...filters, q: "" })}>Clear the search</Button>}
        <Button onClick={() => onChange({ ...filters, range: "30d", from: null, to: null })}>Last 30 days</Button>
      </div>
    </Empty>
  );
}
