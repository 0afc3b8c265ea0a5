import { Ellipsis } from "lucide-react";

import type { Observation } from "@/lib/api/types";

import { IconButton } from "./button";
import { CallItems } from "./call-items";
import { Menu } from "./menu";

interface MenuProps {
  traceId: string;
  observation: Observation | undefined;
  onAdd: () => void;
}

/** The menu of a call that is shown beside a list. */
export function CallMenu({ traceId, observation, onAdd }: MenuProps) {
  return (
    <Menu align="end" trigger={<IconButton label="Actions of the call" icon={<Ellipsis size={16} />} />}>
      <CallItems traceId={traceId} observation={observation} onAdd={onAdd} />
    </Menu>
  );
}
