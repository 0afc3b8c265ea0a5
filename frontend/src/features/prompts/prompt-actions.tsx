import { Archive, ArchiveRestore, Copy, FlaskConical, ListVideo, MoreHorizontal, Tags, Trash2, Users } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useLocation } from "wouter";

import { Button, IconButton } from "@/components/button";
import { copyText } from "@/components/copy";
import { Menu, MenuItem, MenuLine } from "@/components/menu";
import { useHotkey } from "@/hooks/use-hotkey";
import { useIsPhone } from "@/hooks/use-media";
import { useMay, useProject } from "@/hooks/use-project";
import { useUrlValue } from "@/hooks/use-url";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import { togetherHref } from "@/lib/api/prompts";
import type { Prompt } from "@/lib/api/types";

import { isIncluded, useArchive, useDeletePrompt } from "./api";
import { batchHref, playgroundHref } from "./links";

const Confirm = lazy(() => import("@/components/confirm"));
const Included = lazy(() => import("./included-dialog"));
const TagsDialog = lazy(() => import("./tags-dialog"));

interface ActionsProps {
  name: string;
  /** The latest version. */
  version: number;
  prompt: Prompt | undefined;
}

export function PromptActions({ name, version, prompt }: ActionsProps) {
  const { slug } = useProject();
  const phone = useIsPhone();
  const may = useMay("member");
  const [, go] = useLocation();
  const [viewed] = useUrlValue("v");
  const [dialog, setDialog] = useState<"delete" | "tags" | null>(null);
  const leave = () => go(`/p/${slug}/prompts`);
  const shown = Number(viewed) || version;
  const play = () => go(playgroundHref(slug, name, shown));
  const batch = () => go(batchHref(slug, name, shown));
  const together = () => go(togetherHref(slug, name));

  useHotkey("w", "Write together", together);

  return (
    <>
      {!phone && (
        <>
          {may && (
            <Button icon={<ListVideo size={15} />} onClick={batch}>
              Run as batch
            </Button>
          )}
          <Button icon={<Users size={15} />} keys="w" onClick={together}>
            Write together
          </Button>
          <Button icon={<FlaskConical size={15} />} keys="r" onClick={play}>
            Playground
          </Button>
        </>
      )}
      <Menu align="end" trigger={<IconButton label="More actions" icon={<MoreHorizontal size={16} />} />}>
        {phone && <PhoneItems may={may} onPlay={play} onTogether={together} onBatch={batch} />}
        <MenuItem icon={<Copy size={14} />} onSelect={() => void copyText(name, "Name copied")}>
          Copy name
        </MenuItem>
        {may && <WriterItems name={name} archived={Boolean(prompt?.archived_at)} onAsk={setDialog} />}
      </Menu>
      {dialog !== null && <Dialogs dialog={dialog} name={name} version={version} tags={prompt?.tags ?? []} onGone={leave} onClose={() => setDialog(null)} />}
    </>
  );
}

interface ActionDialogsProps {
  dialog: "delete" | "tags";
  name: string;
  version: number;
  tags: string[];
  onGone: () => void;
  onClose: () => void;
}

function Dialogs({ dialog, name, version, tags, onGone, onClose }: ActionDialogsProps) {
  const remove = useDeletePrompt(name, () => {
    announce(`${name} deleted`);
    onGone();
  });
  const confirmed = () =>
    remove.mutate(undefined, {
      onError: (error) => (isIncluded(error) ? undefined : announce(`Not deleted: ${messageOf(error)}`, "error")),
    });
  if (isIncluded(remove.error)) {
    return (
      <Suspense>
        <Included name={name} error={remove.error} onClose={onClose} />
      </Suspense>
    );
  }
  return (
    <Suspense>
      {dialog === "tags" && <TagsDialog name={name} tags={tags} onClose={onClose} />}
      {dialog === "delete" && <Confirm title={`Delete ${name}?`} description={whatGoes(version)} action="Delete prompt" busy={remove.isPending} onConfirm={confirmed} onClose={onClose} />}
    </Suspense>
  );
}

const whatGoes = (versions: number) => `All ${versions === 1 ? "of it" : `${versions} versions`} and its labels go. Code that calls it fails. Traces that used it stay.`;

function ArchiveItem({ name, archived }: { name: string; archived: boolean }) {
  const archive = useArchive(name);
  const putAway = () =>
    archive.mutateAsync(!archived).then(
      () => announce(archived ? `${name} is back` : `${name} archived; code that calls it still gets it`),
      (error: unknown) => announce(`Not changed: ${messageOf(error)}`, "error"),
    );
  return (
    <MenuItem icon={archived ? <ArchiveRestore size={14} /> : <Archive size={14} />} onSelect={() => void putAway()}>
      {archived ? "Take out of the archive" : "Archive"}
    </MenuItem>
  );
}

function WriterItems({ name, archived, onAsk }: { name: string; archived: boolean; onAsk: (dialog: "tags" | "delete") => void }) {
  return (
    <>
      <MenuItem icon={<Tags size={14} />} onSelect={() => onAsk("tags")}>
        Tags…
      </MenuItem>
      <ArchiveItem name={name} archived={archived} />
      <MenuLine />
      <MenuItem icon={<Trash2 size={14} />} danger onSelect={() => onAsk("delete")}>
        Delete prompt…
      </MenuItem>
    </>
  );
}

/** What are buttons where there is room. */
function PhoneItems({ may, onPlay, onTogether, onBatch }: { may: boolean; onPlay: () => void; onTogether: () => void; onBatch: () => void }) {
  return (
    <>
      <MenuItem icon={<FlaskConical size={14} />} onSelect={onPlay}>
        Open in playground
      </MenuItem>
      <MenuItem icon={<Users size={14} />} onSelect={onTogether}>
        Write together
      </MenuItem>
      {may && (
        <MenuItem icon={<ListVideo size={14} />} onSelect={onBatch}>
          Run as batch
        </MenuItem>
      )}
    </>
  );
}
