import { Braces, Ellipsis, Hash, Link2, Trash2 } from "lucide-react";

import { IconButton } from "@/components/button";
import { CallItems } from "@/components/call-items";
import { copyText } from "@/components/copy";
import { Menu, MenuItem, MenuLine } from "@/components/menu";
import { useMay } from "@/hooks/use-project";
import type { Observation, Trace } from "@/lib/api/types";

interface ItemsProps {
  trace: Trace;
  observation: Observation | undefined;
  onDelete: () => void;
  onAdd: () => void;
}

export default function TraceItems({ trace, observation, onDelete, onAdd }: ItemsProps) {
  const may = useMay("member");
  return (
    <Menu align="end" trigger={<IconButton label="Actions" icon={<Ellipsis size={16} />} />}>
      <CallItems traceId={trace.id} observation={observation} onAdd={onAdd} />
      <MenuLine />
      <MenuItem icon={<Link2 size={15} />} onSelect={() => void copyText(window.location.href, "Link copied")}>
        Copy link
      </MenuItem>
      <MenuItem icon={<Hash size={15} />} onSelect={() => void copyText(trace.id, "Trace id copied")}>
        Copy trace id
      </MenuItem>
      <MenuItem icon={<Braces size={15} />} disabled={!observation} onSelect={() => void copyText(JSON.stringify(observation, null, 2), "Copied as JSON")}>
        Copy observation as JSON
      </MenuItem>
      {may && (
        <>
          <MenuLine />
          <MenuItem icon={<Trash2 size={15} />} danger onSelect={onDelete}>
            Delete trace
          </MenuItem>
        </>
      )}
    </Menu>
  );
}
