import type { ReactNode } from "react";

import type { Present, Room } from "./room";

interface SharedFieldProps {
  room: Room;
  people: readonly Present[];
  tab: string;
  field: string;
  label: string;
  children: ReactNode;
}

/** A field of a shared form: it tells the others that one is in it, and shows who else is. */
export function SharedField({ room, people, tab, field, label, children }: SharedFieldProps) {
  const others = people.slice(1).filter(({ place }) => place?.tab === tab && place.field === field);
  return (
    <div className="t-field" style={{ "--who": others[0]?.color ?? "transparent" } as React.CSSProperties} onFocus={() => room.stand({ tab, field, label })} onBlur={() => room.stand(null)}>
      {children}
      {others.length > 0 && <span className="t-field-who">{others.map(({ name }) => name).join(", ")}</span>}
    </div>
  );
}
