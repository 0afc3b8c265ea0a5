import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Bookmark, Columns3, Download, Trash2, Users } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useLocation, useSearch } from "wouter";

import { Button } from "@/components/button";
import { Menu, MenuItem, MenuLabel, MenuLine } from "@/components/menu";
import { useAsk } from "@/components/use-ask";
import { useIsPhone } from "@/hooks/use-media";
import { useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { api, inProject, messageOf, withQuery } from "@/lib/api/client";
import type { SavedView } from "@/lib/api/types";

import type { ListPage } from "./list-tabs";
import type { Choice, useColumns } from "./use-columns";

const SaveView = lazy(() => import("./save-view"));

interface MenuProps {
  page: ListPage;
  columns: readonly Choice[];
  shown: ReturnType<typeof useColumns>;
  /** What is exported, where this list can be. */
  exported?: () => URLSearchParams;
}

/** Saved views, columns and export of a list. */
export function ListMenu({ page, columns, shown, exported }: MenuProps) {
  const phone = useIsPhone();
  if (phone) return null;
  return (
    <>
      <Views page={page} columns={shown.isUsual ? null : shown.ids} />
      <Menu align="end" trigger={<Button variant="quiet" icon={<Columns3 size={15} />}>Columns</Button>}>
        {columns.map((column) => (
          <MenuItem key={column.id} checked={shown.ids.includes(column.id)} onSelect={() => shown.toggle(column.id)}>
            {column.name}
          </MenuItem>
        ))}
        <MenuLine />
        <MenuItem disabled={shown.isUsual} onSelect={shown.reset}>
          The usual columns
        </MenuItem>
      </Menu>
      {exported && <Export page={page} query={exported} />}
    </>
  );
}

const FORMATS = { csv: "CSV", jsonl: "JSON lines", parquet: "Parquet" };

function Export({ page, query }: { page: ListPage; query: () => URLSearchParams }) {
  const { slug } = useProject();
  const save = (format: string) => {
    const link = document.createElement("a");
    link.href = `/api/${withQuery(inProject(slug, "export", page), new URLSearchParams([...query(), ["format", format]]))}`;
    link.download = "";
    link.click();
  };
  return (
    <Menu align="end" trigger={<Button variant="quiet" icon={<Download size={15} />}>Export</Button>}>
      <MenuLabel>All rows that the filters leave</MenuLabel>
      {Object.entries(FORMATS).map(([format, name]) => (
        <MenuItem key={format} onSelect={() => save(format)}>
          {name}
        </MenuItem>
      ))}
    </Menu>
  );
}

/** The address of what is shown, without what moves the cursor. */
function useHere(columns: readonly string[] | null): string {
  const here = new URLSearchParams(useSearch());
  for (const name of ["row", "peek", "compare"]) here.delete(name);
  if (columns) here.set("cols", columns.join(","));
  return here.toString();
}

function useViews(page: ListPage) {
  const { slug } = useProject();
  const queries = useQueryClient();
  const key = ["project", slug, "views", page];
  const { data = [] } = useQuery({ queryKey: key, queryFn: ({ signal }) => api.get<SavedView[]>(withQuery(inProject(slug, "views"), { page }), signal), staleTime: 60_000 });
  const remove = useMutation({
    mutationFn: (view: SavedView) => api.delete(inProject(slug, "views", String(view.id))),
    onSuccess: () => queries.invalidateQueries({ queryKey: key }),
    onError: (error) => announce(`Not deleted: ${messageOf(error)}`, "error"),
  });
  return { views: data, remove };
}

function Views({ page, columns }: { page: ListPage; columns: readonly string[] | null }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const [naming, setNaming] = useState(false);
  const { views, remove } = useViews(page);
  const { ask, dialog } = useAsk();
  const search = useHere(columns);
  const current = views.find((view) => view.search === search);
  const to = (view: SavedView) => `/p/${slug}/${page}${view.search ? `?${view.search}` : ""}`;
  return (
    <>
      <Menu align="end" trigger={<Button variant="quiet" icon={<Bookmark size={15} />}>{current?.name ?? "Views"}</Button>}>
        {views.length === 0 && <MenuLabel>No saved views yet</MenuLabel>}
        {views.map((view) => (
          <MenuItem key={view.id} icon={view.shared ? <Users size={14} /> : undefined} checked={view === current} onSelect={() => go(to(view))}>
            {view.is_own ? view.name : `${view.name} (${view.owner})`}
          </MenuItem>
        ))}
        <MenuLine />
        <MenuItem onSelect={() => setNaming(true)}>Save this view…</MenuItem>
        {current?.is_own && (
          <MenuItem icon={<Trash2 size={14} />} danger onSelect={() => ask({ title: `Delete the view ${current.name}?`, description: current.shared ? "It is gone for everybody in the project. The traces stay." : "The traces stay.", action: "Delete view", run: () => remove.mutate(current) })}>
            Delete “{current.name}”
          </MenuItem>
        )}
      </Menu>
      {dialog}
      <Suspense>{naming && <SaveView page={page} search={search} onClose={() => setNaming(false)} />}</Suspense>
    </>
  );
}
