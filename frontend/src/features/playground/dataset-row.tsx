import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { useState } from "react";

import { IconButton } from "@/components/button";
import { Select } from "@/components/field";
import { useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { allPages } from "@/lib/api/all-pages";
import { inProject, messageOf } from "@/lib/api/client";
import { datasetsQuery } from "@/lib/api/queries";
import type { DatasetItem, Message } from "@/lib/api/types";
import { formatCount } from "@/lib/format";
import { variablesIn } from "@/lib/template";

import { valuesOf } from "./values";

const MOST = 1000;

const rowsQuery = (project: string, dataset: string) =>
  queryOptions({
    queryKey: ["project", project, "datasets", dataset, "items", "all"],
    queryFn: ({ signal }) => allPages<DatasetItem>(inProject(project, "datasets", dataset, "items"), signal, MOST),
    staleTime: 60_000,
  });

interface RowProps {
  messages: readonly Message[];
  onFill: (values: Record<string, string>) => void;
}

/** Fills the variables from a row of a dataset; the arrows go from row to row. */
export function DatasetRow({ messages, onFill }: RowProps) {
  const { slug } = useProject();
  const datasets = useQuery(datasetsQuery(slug)).data ?? [];
  const [chosen, setChosen] = useState("");
  const [at, setAt] = useState(0);
  const queries = useQueryClient();
  const items = useQuery({ ...rowsQuery(slug, chosen), enabled: chosen !== "" });
  if (datasets.length === 0) return null;
  const rows = items.data ?? [];
  const show = (list: DatasetItem[], index: number) => {
    setAt(index);
    if (list[index]) onFill(valuesOf(list[index].input, variablesIn(messages)));
  };
  const choose = async (id: string) => {
    setChosen(id);
    if (id !== "") show(await queries.fetchQuery(rowsQuery(slug, id)), 0);
  };
  return (
    <span className="dataset-row">
      <Select aria-label="Fill from a dataset" value={chosen} onChange={(event) => void choose(event.target.value).catch((error: unknown) => announce(`The rows could not be loaded: ${messageOf(error)}`, "error"))}>
        <option value="">Fill from a dataset</option>
        {datasets.map((one) => (
          <option key={one.id} value={one.id}>
            {one.name}
          </option>
        ))}
      </Select>
      {chosen !== "" && (
        <>
          <IconButton label="Previous row" icon={<ChevronLeft size={14} />} disabled={at === 0} onClick={() => show(rows, at - 1)} />
          <button type="button" className="dataset-fill" disabled={rows.length === 0} onClick={() => show(rows, at)}>
            Row {rows.length === 0 ? 0 : formatCount(at + 1)} of {formatCount(rows.length)}
          </button>
          <IconButton label="Next row" icon={<ChevronRight size={14} />} disabled={at + 1 >= rows.length} onClick={() => show(rows, at + 1)} />
        </>
      )}
    </span>
  );
}
