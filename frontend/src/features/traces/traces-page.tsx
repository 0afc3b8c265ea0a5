import "./traces.css";

import { lazy, memo, Suspense, useCallback, useMemo, useRef } from "react";
import { useLocation } from "wouter";

import { Chip } from "@/components/badge";
import { Page } from "@/components/page";
import { Failure } from "@/components/states";
import { FilterBar } from "@/components/lists/filter-bar";
import { HistogramSlot } from "@/components/lists/histogram-slot";
import { ListTabs } from "@/components/lists/list-tabs";
import { LiveMark } from "@/components/lists/live-mark";
import { RangePicker } from "@/components/lists/range-picker";
import { useColumns } from "@/components/lists/use-columns";
import { useListFilters } from "@/components/lists/use-list-filters";
import { useCallKeys } from "@/components/use-call-keys";
import { useHotkey } from "@/hooks/use-hotkey";
import { useIsPhone, useMedia } from "@/hooks/use-media";
import { useProject } from "@/hooks/use-project";
import { useRemembered } from "@/hooks/use-remembered";
import { useUrl } from "@/hooks/use-url";
import { encodeFilters, FIELDS, hasFilters, toQuery, type TraceFilters } from "@/lib/filters";
import { prefetchRoute } from "@/lib/prefetch";
import { remember } from "@/lib/storage";

import { COLUMNS, USUAL } from "./columns";
import { Facets } from "./facets";
import { TracesTable, type TableHandle } from "./traces-table";
import { useTraces } from "./use-traces";

const Preview = lazy(() => import("./preview"));
const ListMenu = lazy(async () => ({ default: (await import("@/components/lists/list-menu")).ListMenu }));
const NoTraces = lazy(async () => ({ default: (await import("./no-traces")).NoTraces }));

export default function TracesPage() {
  const { slug } = useProject();
  const [params, change] = useUrl();
  const [filters, setFilters] = useListFilters(FIELDS);
  const traces = useTraces(slug, filters);
  const selected = params.get("row");
  const peek = params.get("peek") === "1";
  const table = useRef<TableHandle>(null);
  const open = useOpen(filters);
  const phone = useIsPhone();
  const select = useCallback((id: string) => (phone ? open(id) : change({ row: id, peek: "1" })), [phone, open, change]);
  const columns = useTraceColumns(phone);
  useKeys({ rows: traces.rows, selected, open, peek, change, table });
  const comparing = useCompare(selected);
  const { dialog, add } = useCallKeys(useMemo(() => (selected === null ? null : { traceId: selected }), [selected]));

  const previewed = peek ? traces.rows.find((row) => row.id === selected) : undefined;
  const facets = useFacetsShown(previewed !== undefined);
  const empty = traces.isSuccess && traces.rows.length === 0;

  return (
    <Page
      title="Traces"
      aside={<LiveMark project={slug} />}
      actions={
        <>
          <Suspense>
            <ListMenu page="traces" columns={COLUMNS} shown={columns.chosen} exported={() => toQuery(filters, Date.now())} />
          </Suspense>
          <RangePicker filters={filters} onChange={setFilters} />
        </>
      }
    >
      <Head project={slug} filters={filters} onChange={setFilters} facets={facets.shown} onFacets={facets.toggle} />
      {comparing && (
        <div className="comparing">
          <Chip name="Compare" value={`${comparing.slice(0, 8)}… with the row that you choose next: c`} onRemove={() => change({ compare: null })} />
        </div>
      )}
      <div className="traces-body">
        {facets.shown && <SideFacets project={slug} filters={filters} onChange={setFilters} />}
        <div className="traces-list">
          {traces.isLoadingError ? (
            <Failure what="The traces could not be loaded" error={traces.error} retry={() => void traces.refetch()} />
          ) : empty ? (
            <Suspense>
              <NoTraces filters={filters} filtered={hasFilters(filters)} onChange={setFilters} />
            </Suspense>
          ) : (
            <TracesTable
              ref={table}
              columns={columns.shown}
              custom={columns.custom}
              rows={traces.rows}
              loading={traces.isPending}
              loadingMore={traces.isFetchingNextPage}
              hasMore={traces.hasNextPage}
              onMore={() => void traces.fetchNextPage()}
              waiting={traces.waiting}
              onWaiting={traces.showWaiting}
              onTop={traces.onTop}
              selected={selected}
              onSelect={select}
              onOpen={open}
            />
          )}
        </div>
        <Suspense>{previewed && <Preview row={previewed} onClose={() => change({ peek: null })} onOpen={() => open(previewed.id)} onAdd={add} />}</Suspense>
        {dialog}
      </div>
    </Page>
  );
}

interface HeadProps {
  project: string;
  filters: TraceFilters;
  onChange: (filters: TraceFilters) => void;
  facets: boolean;
  onFacets?: () => void;
}

/** What stands above the table; it does not change while the cursor moves. */
const Head = memo(function Head({ project, filters, onChange, facets, onFacets }: HeadProps) {
  return (
    <>
      <ListTabs current="traces" />
      <FilterBar label="Search traces" names={FIELDS} filters={filters} onChange={onChange} facets={facets} onFacets={onFacets} />
      <HistogramSlot project={project} filters={filters} onChange={onChange} />
    </>
  );
});

const SideFacets = memo(Facets);

function useTraceColumns(phone: boolean) {
  const chosen = useColumns("traces", COLUMNS, USUAL);
  const key = phone ? USUAL.join() : chosen.ids.join();
  const shown = useMemo(() => COLUMNS.filter((column) => key.split(",").includes(column.id)), [key]);
  return { chosen, shown, custom: !phone && !chosen.isUsual };
}

/** Open where there is room, unless chosen otherwise; the preview needs the room more. */
function useFacetsShown(previewing: boolean) {
  const wide = useMedia("(min-width: 1240px)");
  const veryWide = useMedia("(min-width: 1680px)");
  const phone = useIsPhone();
  const [chosen, choose] = useRemembered<boolean | null>("facets", null);
  const shown = !phone && (chosen ?? wide) && (!previewing || veryWide);
  const toggle = useCallback(() => choose(!shown), [choose, shown]);
  return { shown, toggle: phone ? undefined : toggle };
}

/** Opens a trace and remembers the list it was opened from, for `[` and `]`. */
function useOpen(filters: TraceFilters): (id: string) => void {
  const { slug } = useProject();
  const [, go] = useLocation();
  return useCallback(
    (id) => {
      remember("traces.list", encodeFilters(filters).toString());
      go(`/p/${slug}/traces/${id}`);
    },
    [filters, go, slug],
  );
}

interface KeysOf {
  rows: { id: string }[];
  selected: string | null;
  open: (id: string) => void;
  peek: boolean;
  change: (changes: Record<string, string | null>) => void;
  table: React.RefObject<TableHandle | null>;
}

function useKeys({ rows, selected, open, peek, change, table }: KeysOf): void {
  const { slug } = useProject();
  const places = useMemo(() => new Map(rows.map((row, index) => [row.id, index])), [rows]);
  const at = selected === null ? -1 : (places.get(selected) ?? -1);
  const move = (step: number) => {
    const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
    if (!next) return;
    change({ row: next.id });
    table.current?.show(next.id);
    prefetchRoute(`/p/${slug}/traces/${next.id}`);
  };
  useHotkey("j", "Next row", () => move(1));
  useHotkey("k", "Previous row", () => move(-1));
  useHotkey("ArrowDown", "", () => move(1));
  useHotkey("ArrowUp", "", () => move(-1));
  useHotkey("Enter", "Open the row", () => selected && open(selected), { enabled: at >= 0 });
  useHotkey("Space", "Preview the row", () => (at < 0 ? change({ row: rows[0]?.id ?? null, peek: "1" }) : change({ peek: peek ? null : "1" })));
  useHotkey("Escape", "Close the preview", () => change(peek ? { peek: null } : { row: null }), { enabled: peek || at >= 0 });
}

/** `c` takes the first of two traces, and then shows both side by side. */
function useCompare(selected: string | null): string | null {
  const { slug } = useProject();
  const [params, change] = useUrl();
  const [, go] = useLocation();
  const first = params.get("compare");
  const choose = () => {
    if (!selected) return;
    if (first && first !== selected) go(`/p/${slug}/compare?a=${first}&b=${selected}`);
    else change({ compare: first === selected ? null : selected });
  };
  useHotkey("c", first ? "Compare with this row" : "Compare this row with another", choose, { enabled: selected !== null });
  return first;
}
