import { Download, RotateCcw, Square } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useLocation } from "wouter";

import { Button } from "@/components/button";
import { Menu, MenuItem } from "@/components/menu";
import { useIsPhone } from "@/hooks/use-media";
import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import { formatCount, plural } from "@/lib/format";
import type { Run } from "@/lib/api/types";

import { allItems, useCancelRun } from "./api";
import { closedCount, isOpen } from "./progress";
import { asCsv, asJsonl, fileName, saveFile } from "./results";
import { leaveInputs } from "./use-inputs";

const Confirm = lazy(() => import("@/components/confirm"));

export function RunActions({ run }: { run: Run }) {
  const { slug } = useProject();
  const phone = useIsPhone();
  const may = useMay("member");
  const [, go] = useLocation();
  const [asking, setAsking] = useState(false);
  const { busy, withItems } = useAllItems(run);
  const cancel = useCancelRun(String(run.id));

  const stop = () =>
    cancel.mutate(undefined, {
      onSuccess: () => announce("Run canceled; what was answered is kept"),
      onError: (error) => announce(`Not canceled: ${messageOf(error)}`, "error"),
      onSettled: () => setAsking(false),
    });
  const again = () =>
    withItems((items) => {
      leaveInputs(slug, items.map((item) => JSON.stringify(item.variables)).join("\n"));
      go(`/p/${slug}/runs?${new URLSearchParams({ new: "1", prompt: run.prompt.name, version: String(run.prompt.version), model: run.model })}`);
    });
  const save = (ending: "jsonl" | "csv") =>
    withItems((items) => saveFile(fileName(run.name, ending), ending === "csv" ? asCsv(items) : asJsonl(items), ending === "csv" ? "text/csv" : "application/x-ndjson"));

  return (
    <>
      {may && !isOpen(run) && !phone && (
        <Button icon={<RotateCcw size={14} />} disabled={busy} onClick={again} title="A new run with the same inputs, which you may change first">
          Run again
        </Button>
      )}
      <Menu align="end" trigger={<Button icon={<Download size={15} />} busy={busy}>Download</Button>}>
        <MenuItem onSelect={() => save("jsonl")}>JSON lines</MenuItem>
        <MenuItem onSelect={() => save("csv")}>CSV</MenuItem>
      </Menu>
      {may && isOpen(run) && (
        <Button variant="danger" icon={<Square size={13} />} onClick={() => setAsking(true)}>
          Cancel
        </Button>
      )}
      {asking && (
        <Suspense>
          <Confirm
            title="Cancel this run?"
            description={`${plural(closedCount(run), "answer")} will be kept; the other ${formatCount(run.total - closedCount(run))} inputs are not answered.`}
            action="Cancel the run"
            busy={cancel.isPending}
            onConfirm={stop}
            onClose={() => setAsking(false)}
          />
        </Suspense>
      )}
    </>
  );
}

/** All items are read before they are saved: a file is whole or is not there. */
function useAllItems(run: Run) {
  const { slug } = useProject();
  const [busy, setBusy] = useState(false);
  const withItems = (use: (items: Awaited<ReturnType<typeof allItems>>) => void) => {
    setBusy(true);
    allItems(slug, String(run.id))
      .then(use)
      .catch((error: unknown) => announce(`The results could not be read: ${messageOf(error)}`, "error"))
      .finally(() => setBusy(false));
  };
  return { busy, withItems };
}
