import { CloudOff, LoaderCircle } from "lucide-react";

import { Avatar } from "@/components/avatar";

import type { RoomState } from "./room";

const SHOWN = 6;

/** Who is here, and whether what one types reaches them. */
export function People({ people, line }: Pick<RoomState, "people" | "line">) {
  return (
    <div className="t-people">
      <LineNote line={line} />
      <ul aria-label="People here">
        {people.slice(0, SHOWN).map((person) => (
          <li key={person.id} title={person.name}>
            <Avatar name={person.name} color={person.color} />
            <span className="sr-only">{person.name}</span>
          </li>
        ))}
      </ul>
      {people.length > SHOWN && <span className="faint num">+{people.length - SHOWN}</span>}
    </div>
  );
}

function LineNote({ line }: Pick<RoomState, "line">) {
  if (line === "open" || line === "closed") return null;
  const offline = line === "offline";
  return (
    <span className="t-line" role="status">
      {offline ? <CloudOff size={14} aria-hidden="true" /> : <LoaderCircle size={14} aria-hidden="true" />}
      {offline ? "Offline: what you write is sent when the line is back" : "Connecting"}
    </span>
  );
}
