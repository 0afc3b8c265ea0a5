import { Eye } from "lucide-react";

import { Button } from "@/components/button";

import type { PanelProps } from "./panels";
import type { Present } from "./room";

/** Who is in the room, where each one is, and whose screen to go along with. */
export function PeoplePanel({ room, state }: PanelProps) {
  return (
    <section aria-labelledby="t-here">
      <h2 id="t-here">Here now</h2>
      <ul className="t-here">
        {state.people.map((person, index) => (
          <li key={person.id}>
            <i style={{ background: person.color }} aria-hidden="true" />
            <span className="t-who">
              <span className="ellipsis">{person.name}</span>
              <span className="faint ellipsis">{index === 0 ? "you" : whereOf(person)}</span>
            </span>
            {index > 0 && (
              <Button
                size="small"
                variant="quiet"
                icon={<Eye size={14} />}
                aria-pressed={state.following === person.id}
                aria-label={`Follow ${person.name}`}
                onClick={() => room.follow(state.following === person.id ? null : person.id)}
              >
                {state.following === person.id ? "Following" : "Follow"}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {state.people.length === 1 && <p className="faint t-alone">Nobody else is here. Send a colleague the address of this page: you will see each other write.</p>}
    </section>
  );
}

function whereOf({ run, place }: Present): string {
  if (run && (run.state === "waiting" || run.state === "streaming")) return `runs ${run.model}`;
  return place?.label || "looking on";
}
