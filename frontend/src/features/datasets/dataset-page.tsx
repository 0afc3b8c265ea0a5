import "./datasets.css";

import { useQuery } from "@tanstack/react-query";
import { FileQuestion, Plus, Trash2 } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useLocation, useParams } from "wouter";

import { Button, IconButton } from "@/components/button";
import { Page } from "@/components/page";
import { Empty, Loaded } from "@/components/states";
import { Tabs } from "@/components/tabs";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { useUrl } from "@/hooks/use-url";
import { announce } from "@/lib/announce";
import { ApiError, messageOf } from "@/lib/api/client";
import type { Dataset } from "@/lib/api/types";

import { datasetQuery, useDeleteDataset } from "./api";
import { Comparison } from "./comparison";
import { Items } from "./items";
import { Runs } from "./runs";

const Confirm = lazy(() => import("@/components/confirm"));
const EditItem = lazy(() => import("./edit-item"));

export default function DatasetPage() {
  const { datasetId = "" } = useParams<{ datasetId: string }>();
  return <OneDataset key={datasetId} id={datasetId} />;
}

function OneDataset({ id }: { id: string }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const query = useQuery(datasetQuery(slug, id));
  const dataset = query.data;
  const missing = query.error instanceof ApiError && query.error.status === 404;
  return (
    <Page title={dataset?.name ?? "Dataset"} path={[{ title: "Datasets", href: `/p/${slug}/datasets` }]} actions={dataset && <Actions dataset={dataset} />}>
      {missing ? (
        <Empty icon={<FileQuestion size={24} />} title="There is no such dataset in this project">
          <Button onClick={() => go(`/p/${slug}/datasets`)}>All datasets</Button>
        </Empty>
      ) : (
        <Loaded query={query} what="The dataset">
          {(loaded) => <Views dataset={loaded} />}
        </Loaded>
      )}
    </Page>
  );
}

function Views({ dataset }: { dataset: Dataset }) {
  const [params] = useUrl();
  const compared = (params.get("runs") ?? "").split(",").filter(Boolean);
  const asked = params.get("tab");
  const tab = asked === "runs" || (asked === "compare" && compared.length > 0) ? asked : "items";
  return (
    <>
      {dataset.description && <p className="ds-about muted">{dataset.description}</p>}
      <Tabs
        label="Dataset"
        current={tab}
        tabs={[
          { id: "items", label: "Items", count: dataset.item_count },
          { id: "runs", label: "Runs", count: dataset.run_count },
          ...(compared.length > 0 ? [{ id: "compare", label: "Comparison", count: compared.length }] : []),
        ]}
      />
      {tab === "items" && <Items dataset={dataset} />}
      {tab === "runs" && <Runs dataset={dataset} chosen={compared} />}
      {tab === "compare" && <Comparison dataset={dataset} runs={compared} />}
    </>
  );
}

function Actions({ dataset }: { dataset: Dataset }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const may = useMay("member");
  const [asking, setAsking] = useState<"delete" | "item" | null>(null);
  const remove = useDeleteDataset(dataset.id);
  useHotkey("n", "New item", () => setAsking("item"), { enabled: may });
  if (!may) return null;
  const del = () =>
    remove.mutate(undefined, {
      onSuccess: () => {
        announce(`${dataset.name} deleted`);
        go(`/p/${slug}/datasets`);
      },
      onError: (error) => announce(`Not deleted: ${messageOf(error)}`, "error"),
    });
  return (
    <>
      <IconButton label="Delete dataset" icon={<Trash2 size={16} />} onClick={() => setAsking("delete")} />
      <Button variant="primary" icon={<Plus size={15} />} keys="n" onClick={() => setAsking("item")}>
        New item
      </Button>
      <Suspense>
        {asking === "item" && <EditItem dataset={dataset.id} onClose={() => setAsking(null)} />}
        {asking === "delete" && (
          <Confirm title="Delete this dataset?" description="Its items and runs go with it; the traces stay. This cannot be undone." action="Delete dataset" busy={remove.isPending} onConfirm={del} onClose={() => setAsking(null)} />
        )}
      </Suspense>
    </>
  );
}
