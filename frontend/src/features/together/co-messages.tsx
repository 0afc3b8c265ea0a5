import { ArrowDown, ArrowUp, Plus, X } from "lucide-react";
import { useId, useState } from "react";
import * as Y from "yjs";

import { Button, IconButton } from "@/components/button";
import { Select } from "@/components/field";
import { JsonTree } from "@/components/json-tree";

import { CoText } from "./co-text";
import type { Room } from "./room";
import { useShared } from "./use-room";

type Messages = Room["messages"];

const ROLES = ["system", "developer", "user", "assistant", "tool"];

interface ListProps {
  room: Room;
  readOnly: boolean;
}

/** The messages of a chat prompt, each a shared text of its own. */
export function CoMessages({ room, readOnly }: ListProps) {
  const { messages } = room;
  useShared(messages);
  const list = messages.toArray();
  const add = () => {
    const role = list.at(-1)?.get("role") === "user" ? "assistant" : "user";
    messages.push([made(role, "")]);
  };
  return (
    <>
      {list.map((message, index) => (
        <CoMessage key={keyOf(message)} message={message} place={{ index, count: list.length }} room={room} readOnly={readOnly} />
      ))}
      {!readOnly && (
        <div className="t-add">
          <Button variant="quiet" size="small" icon={<Plus size={14} />} onClick={add}>
            Add message
          </Button>
        </div>
      )}
    </>
  );
}

function made(role: unknown, content: string): Y.Map<unknown> {
  return new Y.Map<unknown>([
    ["role", role],
    ["content", new Y.Text(content)],
  ]);
}

/** A shared value is one place in the document: its id is the same in every browser. */
function keyOf(message: Y.Map<unknown>): string {
  const id = (message as unknown as { _item: { id: { client: number; clock: number } } | null })._item?.id;
  return id ? `${id.client}:${id.clock}` : "new";
}

/** Yjs cannot move a value: it is taken out and put in again, in one step for everybody. */
function move(messages: Messages, from: number, to: number): void {
  const message = messages.get(from);
  const copy = message.clone();
  messages.doc!.transact(() => {
    messages.delete(from);
    messages.insert(to, [copy]);
  });
}

interface MessageProps extends ListProps {
  message: Y.Map<unknown>;
  place: { index: number; count: number };
}

function CoMessage({ message, place: { index, count }, room, readOnly }: MessageProps) {
  const { messages } = room;
  const role = String(message.get("role") ?? message.get("type") ?? "");
  const content = message.get("content");
  const label = `${role} message, ${index + 1} of ${count}`;
  const id = useId();
  const [at] = useState(label); // the editor is made once: a label that moves would make it anew
  return (
    <section className="t-message" data-role={role} aria-labelledby={id}>
      <header>
        <h2 id={id} className="sr-only">
          {label}
        </h2>
        {readOnly ? (
          <span className="t-role">{role}</span>
        ) : (
          <>
            <Select aria-label={`Role of message ${index + 1}`} value={role} onChange={(event) => message.set("role", event.target.value)}>
              {(ROLES.includes(role) ? ROLES : [...ROLES, role]).map((name) => (
                <option key={name}>{name}</option>
              ))}
            </Select>
            <span className="t-actions">
              <IconButton label={`Move message ${index + 1} up`} icon={<ArrowUp size={14} />} disabled={index === 0} onClick={() => move(messages, index, index - 1)} />
              <IconButton label={`Move message ${index + 1} down`} icon={<ArrowDown size={14} />} disabled={index === count - 1} onClick={() => move(messages, index, index + 1)} />
              <IconButton label={`Remove message ${index + 1}`} icon={<X size={14} />} disabled={count === 1} onClick={() => messages.delete(index)} />
            </span>
          </>
        )}
      </header>
      {content instanceof Y.Text ? <CoText room={room} text={content} label={at} placeholder="What this message says" readOnly={readOnly} /> : <JsonTree value={message.toJSON()} />}
    </section>
  );
}
