import { useId, useState } from "react";

import type { Merge, MergeChoice } from "@/lib/api/types";

type Conflict = Merge["conflicts"][number];
type Take = MergeChoice["take"];

export interface Names {
  mine: string;
  theirs: string;
}

interface BoxProps {
  conflict: Conflict;
  messages: Merge["messages"];
  names: Names;
  choice: MergeChoice | undefined;
  onChoose: (choice: MergeChoice) => void;
}

/** What both sides changed, differently, with all that one can make of it. */
export function ConflictBox({ conflict, messages, names, choice, onChoose }: BoxProps) {
  const group = useId();
  const takes: Take[] = conflict.kind === "text" ? ["mine", "theirs", "both", "edit"] : conflict.kind === "value" ? ["mine", "theirs", "edit"] : ["mine", "theirs"];
  return (
    <fieldset className="mg-conflict" data-decided={choice !== undefined}>
      <legend>
        {conflict.kind === "order" ? "The messages stand in two orders" : conflict.kind === "presence" ? "Edited on one side, removed on the other" : "Both changed this"}
        <span className="faint"> · {conflict.where}</span>
      </legend>
      {takes.map((take) => (
        <Option key={take} take={take} group={group} conflict={conflict} messages={messages} names={names} choice={choice} onChoose={onChoose} />
      ))}
    </fieldset>
  );
}

interface OptionProps extends BoxProps {
  take: Take;
  group: string;
}

function Option({ take, group, conflict, messages, names, choice, onChoose }: OptionProps) {
  const checked = choice?.take === take;
  const side = take === "mine" || take === "theirs" ? sideText(conflict, take, messages) : null;
  const title = { mine: names.mine, theirs: names.theirs, both: "Both, one after the other", edit: "Something else" }[take];
  return (
    <div className="mg-option" data-checked={checked}>
      <label>
        <input type="radio" name={group} checked={checked} onChange={() => onChoose(take === "edit" ? { take, value: first(conflict) } : { take })} />
        <span className="mg-side">{title}</span>
        {side !== null && <span className={side === "" ? "mg-said faint" : "mg-said"}>{side === "" ? "nothing" : side}</span>}
      </label>
      {take === "edit" && checked && <Edit conflict={conflict} value={choice.value} onChoose={onChoose} />}
    </div>
  );
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

function first(conflict: Conflict): unknown {
  return (conflict.mine ?? conflict.theirs)?.value ?? "";
}

function sideText(conflict: Conflict, take: "mine" | "theirs", messages: Merge["messages"]): string {
  const held = conflict[take];
  if (conflict.kind === "presence") return held ? textOf((held.value as { content?: unknown }).content ?? held.value) : "Remove the message";
  if (conflict.kind === "order") return (held!.value as number[]).map((place) => messages[place]?.role ?? "?").join(", ");
  return held ? textOf(held.value).replace(/^\n+|\n+$/g, "") : "";
}

/** Another text, or another value as JSON; a text that is no JSON is taken as a text. */
function Edit({ conflict, value, onChoose }: { conflict: Conflict; value: unknown; onChoose: (choice: MergeChoice) => void }) {
  const [text, setText] = useState(() => textOf(value ?? ""));
  const change = (next: string) => {
    setText(next);
    onChoose({ take: "edit", value: conflict.kind === "value" ? parsed(next) : next });
  };
  return <textarea autoFocus className="textarea" rows={Math.min(8, text.split("\n").length + 1)} aria-label={`Other text for ${conflict.where}`} value={text} onChange={(event) => change(event.target.value)} />;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
