import { Braces, DatabaseZap, FlaskConical, SquareTerminal } from "lucide-react";
import { useLocation } from "wouter";

import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import type { Observation } from "@/lib/api/types";
import { callOf, playgroundAddress, written } from "@/lib/call";

import { copyText } from "./copy";
import { MenuItem } from "./menu";

interface ItemsProps {
  traceId: string;
  /** Undefined while it is not here yet. */
  observation: Observation | undefined;
  onAdd: () => void;
}

/** What can be done with one call, wherever it is shown. */
export function CallItems({ traceId, observation, onAdd }: ItemsProps) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const may = useMay("member");
  const call = observation && callOf(observation);
  const copy = (how: "asCurl" | "asPython", said: string) => {
    written(call!, how)
      .then((text) => copyText(text, said))
      .catch((error: unknown) => announce(`Not copied: ${messageOf(error)}`, "error"));
  };
  return (
    <>
      <MenuItem icon={<FlaskConical size={15} />} disabled={!observation} onSelect={() => go(playgroundAddress(slug, traceId, observation!.id))}>
        Open in playground
      </MenuItem>
      {may && (
        <MenuItem icon={<DatabaseZap size={15} />} disabled={!observation} onSelect={onAdd}>
          Add to a dataset
        </MenuItem>
      )}
      <MenuItem icon={<SquareTerminal size={15} />} disabled={!call} onSelect={() => copy("asCurl", "Copied as curl")}>
        Copy as curl
      </MenuItem>
      <MenuItem icon={<Braces size={15} />} disabled={!call} onSelect={() => copy("asPython", "Copied as Python")}>
        Copy as Python
      </MenuItem>
    </>
  );
}
