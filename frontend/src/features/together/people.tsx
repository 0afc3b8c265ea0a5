import { CloudOff, LoaderCircle } from "lucide-react";

import { initialsOf } from "@/components/here";

import type { Person, RoomState } from "./room";

const SHOWN = 6;

/** Who is here, and whether what one types reaches them. */
export function People({ people, line }: Pick<RoomState, "people" | "line">) {
  return (
    <div className="t-people">
      <LineNote line={line} />
      <ul aria-label="People here">
        {people.slice(0, SHOWN).map((person) => (
          <Avatar key={person.id} person={person} />
        ))}
      </ul>
      {people.length > SHOWN && <span className="faint num">+{people.length - SHOWN}</span>}
    </div>
  );
}

function Avatar({ person }: { person: Person }) {
  return (
    <li className="t-avatar" style={{ background: person.color }} title={person.name}>
      <span aria-hidden="true">{initialsOf(person.name)}</span>
      <span className="sr-only">{person.name}</span>
    </li>
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
