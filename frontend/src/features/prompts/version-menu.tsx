import { useQuery } from "@tanstack/react-query";
import { Copy, CopyPlus, FlaskConical, History, ListVideo, MoreHorizontal, Pencil } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useLocation } from "wouter";

import { IconButton } from "@/components/button";
import { copyText } from "@/components/copy";
import { Menu, MenuItem, MenuLine } from "@/components/menu";
import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import type { PromptVersion } from "@/lib/api/types";
import { promptHref } from "@/lib/api/prompts";

import { isIncluded, promptQuery, useLabel, type LabelChange } from "./api";
import { LabelItems } from "./label-items";
import { needsConfirm } from "./labels";
import { batchHref, playgroundHref } from "./links";
import type { Workspace } from "./use-workspace";
import type { Asking } from "./version-dialogs";

const Dialogs = lazy(() => import("./version-dialogs"));

interface MenuProps {
  name: string;
  version: PromptVersion;
  work: Workspace;
  onEditFrom: (version: PromptVersion) => void;
}

export function VersionMenu({ name, version, work, onEditFrom }: MenuProps) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const may = useMay("member");
  const [asking, setAsking] = useState<Asking | null>(null);
  const splits = useQuery(promptQuery(slug, name)).data?.splits ?? {};
  const label = useLabel(name);
  const number = version.version;

  const apply = (change: LabelChange) =>
    label.mutate(change, {
      onSuccess: () => {
        setAsking(null);
        announce(change.version === null ? `${change.label} taken off version ${number}` : `${change.label} is version ${change.version} now`);
      },
      onError: (error) => {
        if (isIncluded(error)) return setAsking({ included: error, of: change.label });
        setAsking(null);
        announce(`The label was not changed: ${messageOf(error)}`, "error");
      },
    });
  const ask = (change: LabelChange) => (needsConfirm(change) ? setAsking(change) : apply(change));

  return (
    <>
      <Menu align="end" trigger={<IconButton label={`Actions for version ${number}`} icon={<MoreHorizontal size={15} />} />}>
        {may && (
          <>
            <LabelItems version={version} work={work} splits={splits} onLabel={ask} onAsk={setAsking} />
            <MenuLine />
          </>
        )}
        <MenuItem icon={<FlaskConical size={14} />} onSelect={() => go(playgroundHref(slug, name, number))}>
          Open in playground
        </MenuItem>
        {may && (
          <>
            <MenuItem icon={<ListVideo size={14} />} onSelect={() => go(batchHref(slug, name, number))}>
              Run as batch
            </MenuItem>
            <MenuItem icon={<Pencil size={14} />} onSelect={() => onEditFrom(version)}>
              Edit from here
            </MenuItem>
            <MenuItem icon={<History size={14} />} disabled={version === work.latest} onSelect={() => void work.restore(version)}>
              Restore as version {work.latest.version + 1}
            </MenuItem>
          </>
        )}
        {may && (
          <MenuItem icon={<CopyPlus size={14} />} onSelect={() => setAsking("copy")}>
            Duplicate as a new prompt…
          </MenuItem>
        )}
        <MenuItem icon={<Copy size={14} />} onSelect={() => void copyText(`${window.location.origin}${promptHref(slug, name)}?v=${number}`, "Link copied")}>
          Copy link
        </MenuItem>
      </Menu>
      <Suspense>{asking !== null && <Dialogs asking={asking} name={name} version={version} work={work} splits={splits} busy={label.isPending} onLabel={ask} onApply={apply} onClose={() => setAsking(null)} />}</Suspense>
    </>
  );
}
