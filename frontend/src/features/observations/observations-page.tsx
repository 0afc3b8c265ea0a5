import "@/components/lists/list.css";
import "./observations.css";

import { useQuery } from "@tanstack/react-query";
import { SearchX } from "lucide-react";
import { lazy, memo, Suspense, useMemo, useRef } from "react";
import { useLocation } from "wouter";

import { Button } from "@/components/button";
import { FacetList, type FacetGroup } from "@/components/facet-list";
import { Grid } from "@/components/grid";
import { Page } from "@/components/page";
import { Empty, Loaded, Skeleton } from "@/components/states";
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
import { useCallKeys } from "@/components/use-call-keys";
import { useHotkey } from "@/hooks/use-hotkey";
import { useIsPhone, useMedia } from "@/hooks/use-media";
import { useNow } from "@/hooks/use-now";
import { useProject } from "@/hooks/use-project";
import { useRemembered } from "@/hooks/use-remembered";
import { useUrl, useUrlValue } from "@/hooks/use-url";
import { api, inProject, withQuery } from "@/lib/api/client";
import type { ObservationFacets, ObservationRow } from "@/lib/api/types";
import { encodeFilters, hasFilters, OBSERVATION_FIELDS, toObservationQuery, withField, type TraceFilters } from "@/lib/filters";

import { columnsOf, USUAL, type ObservationColumn } from "./columns";

const Preview = lazy(() => import("./preview"));

const PATH = ["observations"];
const PHONE = ["name", "output", "latency"];
/** What the preview tells of the row beside it. */
const TOLD_THERE = ["tokens", "cost"];

export default function ObservationsPage() {
  const { slug } = useProject();
  const [filters, setFilters] = useListFilters(OBSERVATION_FIELDS);
  const list = useRows<ObservationRow>({ project: slug, path: PATH, search: encodeFilters(filters).toString(), query: () => toObservationQuery(filters, Date.now()) });
  const phone = useIsPhone();
  const wide = useMedia("(min-width: 1240px)");
  const [chosenFacets, chooseFacets] = useRemembered<boolean | null>("facets", null);
  // The preview needs the room more.
  const veryWide = useMedia("(min-width: 1680px)");
  const [peek] = useUrlValue("peek");
  const facets = !phone && (chosenFacets ?? wide) && (peek === null || veryWide);
  const all = useMemo(() => columnsOf(slug), [slug]);
  const chosen = useColumns("observations", all, USUAL);
  const ids = phone ? PHONE : chosen.ids;
  return (
    <Page
      title="Observations"
      aside={<LiveMark project={slug} />}
      actions={
        <>
          <ListMenu page="observations" columns={all} shown={chosen} exported={() => toObservationQuery(filters, Date.now())} />
          <RangePicker filters={filters} onChange={setFilters} />
        </>
      }
    >
      <Head project={slug} filters={filters} onChange={setFilters} facets={facets} onFacets={phone ? undefined : chooseFacets} />
      <div className="list-body">
        {facets && <Facets project={slug} filters={filters} onChange={setFilters} />}
        <div className="list-rows">
          <Loaded query={list} what="The observations" skeleton={<Skeleton rows={16} height={32} />}>
            {() => (list.rows.length === 0 ? <None filters={filters} onChange={setFilters} /> : <Rows list={list} columns={all.filter(({ id }) => ids.includes(id) && (peek === null || veryWide || !TOLD_THERE.includes(id)))} />)}
          </Loaded>
        </div>
      </div>
    </Page>
  );
}

interface RowsProps {
  list: ReturnType<typeof useRows<ObservationRow>>;
  columns: ObservationColumn[];
}

/** The table, and the selected row at its side; which one that is stands in the address. */
function Rows({ list, columns }: RowsProps) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const [params, change] = useUrl();
  const phone = useIsPhone();
  const frame = useRef<HTMLDivElement>(null);
  const asked = params.get("row");
  const at = useMemo(() => (asked === null ? -1 : list.rows.findIndex((row) => row.id === asked)), [list.rows, asked]);
  const selected = list.rows[at];
  const peek = params.get("peek") === "1";
  const { dialog, add } = useCallKeys(selected ? { traceId: selected.trace_id, observationId: selected.id } : null);
  const open = (row: ObservationRow) => go(`/p/${slug}/traces/${row.trace_id}?o=${row.id}`);
  useHotkey("Space", "Preview the row", () => change(selected ? { peek: peek ? null : "1" } : { row: list.rows[0]?.id ?? null, peek: "1" }));
  useHotkey("Escape", "Close the preview", () => change(peek ? { peek: null } : { row: null }), { enabled: peek || asked !== null });
  return (
    <div className="list-beside" ref={frame}>
      <Newer shown={list.newer} onShow={() => (frame.current?.querySelector(".grid")?.scrollTo({ top: 0 }), list.showNewer())} />
      <Grid
        label="Observations"
        rows={list.rows}
        columns={columns}
        keyOf={(row) => row.trace_id + row.id}
        rowHeight={32}
        active={at < 0 ? null : at}
        onActive={(index) => change({ row: list.rows[index]!.id })}
        onOpen={open}
        onChoose={(row) => (phone ? open(row) : change({ row: row.id, peek: "1" }))}
        onNearEnd={list.hasNextPage && !list.isFetchingNextPage ? () => void list.fetchNextPage() : undefined}
        onTop={list.onTop}
      />
      <Suspense>{peek && selected && <Preview row={selected} onClose={() => change({ peek: null })} onOpen={() => open(selected)} onAdd={add} />}</Suspense>
      {dialog}
    </div>
  );
}

interface HeadProps {
  project: string;
  filters: TraceFilters;
  onChange: (filters: TraceFilters) => void;
  facets: boolean;
  onFacets?: (shown: boolean) => void;
}

const Head = memo(function Head({ project, filters, onChange, facets, onFacets }: HeadProps) {
  // The histogram counts traces: of the filters only the time says something about them.
  const time = useMemo(() => ({ ...filters, q: "", fields: {} }), [filters]);
  return (
    <>
      <ListTabs current="observations" />
      <FilterBar label="Search observations" names={OBSERVATION_FIELDS} filters={filters} onChange={onChange} facets={facets} onFacets={onFacets && (() => onFacets(!facets))} />
      <HistogramSlot project={project} filters={time} onChange={({ from, to }) => onChange({ ...filters, range: "", from, to })} />
    </>
  );
});

const TITLES: Record<keyof ObservationFacets, string> = { type: "Type", level: "Level", model: "Model", name: "Name", environment: "Environment" };
const ROUND_MS = 60_000;

const Facets = memo(function Facets({ project, filters, onChange }: { project: string; filters: TraceFilters; onChange: (filters: TraceFilters) => void }) {
  const now = Math.floor(useNow(ROUND_MS) / ROUND_MS) * ROUND_MS;
  const search = toObservationQuery(filters, now).toString();
  const { data } = useQuery({
    queryKey: ["project", project, "observations", "facets", search],
    queryFn: ({ signal }) => api.get<ObservationFacets>(withQuery(inProject(project, "observations", "facets"), new URLSearchParams(search)), signal),
    placeholderData: (previous) => previous,
  });
  const groups = (Object.keys(TITLES) as (keyof ObservationFacets)[]).map((field): FacetGroup => ({ title: TITLES[field], field, values: data?.[field] ?? [] }));
  const shown = groups.filter(({ field, values }) => values.length > 0 || filters.fields[field] !== undefined);
  if (data && shown.length === 0) return null;
  return <FacetList groups={shown} chosen={filters.fields} onChoose={(field, value) => onChange(withField(filters, field, value))} />;
});

function None({ filters, onChange }: { filters: TraceFilters; onChange: (filters: TraceFilters) => void }) {
  const filtered = hasFilters(filters);
  return (
    <Empty icon={<SearchX size={24} />} title={filtered ? "No observation fits these filters" : "No observations in this range"}>
      <p>Every call, tool and step of a trace is an observation.</p>
      <div className="form-actions">
        {filtered && <Button onClick={() => onChange({ ...filters, q: "", fields: {} })}>Clear filters</Button>}
        <Button onClick={() => onChange({ ...filters, range: "30d", from: null, to: null })}>Last 30 days</Button>
      </div>
    </Empty>
  );
}
