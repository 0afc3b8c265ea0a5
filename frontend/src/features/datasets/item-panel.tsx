import { Archive, ArchiveRestore, ListTree, Pencil, Trash2, X } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useLocation } from "wouter";

import { Badge } from "@/components/badge";
import { Button, IconButton } from "@/components/button";
import { CopyButton } from "@/components/copy";
import { JsonTree } from "@/components/json-tree";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import type { DatasetItem } from "@/lib/api/types";
import { toText } from "@/lib/json-text";
import { mediaIn } from "@/lib/media";

import { useDeleteItem, useSaveItem } from "./api";

const EditItem = lazy(() => import("./edit-item"));
const Files = lazy(() => import("@/components/media"));
const Confirm = lazy(() => import("@/components/confirm"));

/** One item in full. */
export function ItemPanel({ dataset, item, onClose }: { dataset: string; item: DatasetItem; onClose: () => void }) {
  const may = useMay("member");
  const [asking, setAsking] = useState<"edit" | "delete" | null>(null);
  useHotkey("Escape", "Close the item", onClose, { enabled: asking === null });
  useHotkey("e", "Edit the item", () => setAsking("edit"), { enabled: may });
  return (
    <aside className="ds-panel" aria-label="Item">
      <header>
        <h2>Item</h2>
        {item.status === "ARCHIVED" && <Badge>archived</Badge>}
        <span className="ds-room" />
        <Source item={item} />
        {may && <Actions dataset={dataset} item={item} ask={setAsking} />}
        <IconButton label="Close" keys="Escape" icon={<X size={16} />} onClick={onClose} />
      </header>
      <div className="ds-panel-body" tabIndex={0} role="group" aria-label="Input and expectation">
        <Part title="Input" value={item.input} />
        <Part title="Expected output" value={item.expected_output} />
        {item.metadata !== null && <Part title="Metadata" value={item.metadata} />}
        <p className="faint mono ds-id">
          {item.id} <CopyButton text={item.id} label="Copy the item's id" />
        </p>
      </div>
      <Suspense>
        {asking === "edit" && <EditItem dataset={dataset} item={item} onClose={() => setAsking(null)} />}
        {asking === "delete" && <DeleteItem dataset={dataset} item={item} onGone={onClose} onClose={() => setAsking(null)} />}
      </Suspense>
    </aside>
  );
}

function Source({ item }: { item: DatasetItem }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  if (!item.source_trace_id) return null;
  const href = `/p/${slug}/traces/${item.source_trace_id}${item.source_observation_id ? `?o=${item.source_observation_id}` : ""}`;
  return (
    <Button size="small" icon={<ListTree size={14} />} onClick={() => go(href)}>
      Source
    </Button>
  );
}

function Actions({ dataset, item, ask }: { dataset: string; item: DatasetItem; ask: (what: "edit" | "delete") => void }) {
  const save = useSaveItem(dataset, item.id);
  const archived = item.status === "ARCHIVED";
  const turn = () => save.mutate({ status: archived ? "ACTIVE" : "ARCHIVED" }, { onError: (error) => announce(`Not changed: ${messageOf(error)}`, "error") });
  return (
    <>
      <IconButton label="Edit" keys="e" icon={<Pencil size={15} />} onClick={() => ask("edit")} />
      <IconButton label={archived ? "Make active again" : "Archive"} icon={archived ? <ArchiveRestore size={15} /> : <Archive size={15} />} disabled={save.isPending} onClick={turn} />
      <IconButton label="Delete" icon={<Trash2 size={15} />} onClick={() => ask("delete")} />
    </>
  );
}

function DeleteItem({ dataset, item, onGone, onClose }: { dataset: string; item: DatasetItem; onGone: () => void; onClose: () => void }) {
  const remove = useDeleteItem(dataset, item.id);
  const del = () => remove.mutate(undefined, { onSuccess: onGone, onError: (error) => announce(`Not deleted: ${messageOf(error)}`, "error") });
  return <Confirm title="Delete this item?" description="All its versions and its executions in runs go with it. Archive it to keep them." action="Delete item" busy={remove.isPending} onConfirm={del} onClose={onClose} />;
}

function Part({ title, value }: { title: string; value: unknown }) {
  return (
    <section>
      <h3>
        {title} <CopyButton text={toText(value)} label={`Copy the ${title.toLowerCase()}`} />
      </h3>
      {value === null || value === undefined ? <p className="faint">Nothing</p> : typeof value === "string" ? <p className="ds-text">{value}</p> : <JsonTree value={value} open={3} />}
      <Suspense>{mediaIn(value).length > 0 && <Files value={value} />}</Suspense>
    </section>
  );
}
