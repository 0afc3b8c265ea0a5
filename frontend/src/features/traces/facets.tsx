import { useQuery } from "@tanstack/react-query";

import { FacetList } from "@/components/facet-list";
import { useNow } from "@/hooks/use-now";
import { facetsQuery } from "@/lib/api/queries";
import type { Facets as FacetLists } from "@/lib/api/types";
import { toQuery, withField, type Field, type TraceFilters } from "@/lib/filters";

interface FacetsProps {
  project: string;
  filters: TraceFilters;
  onChange: (filters: TraceFilters) => void;
}

const GROUPS: { title: string; field: Field; list: keyof FacetLists }[] = [
  { title: "Status", field: "status", list: "status" },
  { title: "Model", field: "model", list: "models" },
  { title: "Name", field: "name", list: "names" },
  { title: "Tags", field: "tag", list: "tags" },
  { title: "Environment", field: "environment", list: "environments" },
];

const ROUND_MS = 60_000;

/** What there is in the range, with counts. */
export function Facets({ project, filters, onChange }: FacetsProps) {
  const now = Math.floor(useNow(ROUND_MS) / ROUND_MS) * ROUND_MS;
  const { data } = useQuery(facetsQuery(project, toQuery(filters, now).toString()));
  const groups = GROUPS.map(({ title, field, list }) => ({ title, field, values: data?.[list] ?? [] }));
  const shown = groups.filter(({ field, values }) => values.length > 0 || filters.fields[field] !== undefined);
  if (data && shown.length === 0) return null;
  return <FacetList groups={shown} chosen={filters.fields} onChoose={(field, value) => onChange(withField(filters, field, value))} />;
}
