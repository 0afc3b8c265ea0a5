import { CircleAlert, CircleCheck, Pencil, PlugZap, Trash2 } from "lucide-react";
import { useEffect, useRef } from "react";

import { Button, IconButton } from "@/components/button";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import type { Connection, ConnectionCheck } from "@/lib/api/types";
import { plural } from "@/lib/format";

import { useSaveConnection, useTestConnection } from "./api";

interface RemoteProps {
  connection: Connection;
  may: boolean;
  testAtOnce: boolean;
  onEdit: () => void;
  onDelete: () => void;
}

export function RemoteConnection({ connection, may, testAtOnce, onEdit, onDelete }: RemoteProps) {
  const test = useTestConnection(connection.id);
  const begun = useRef(false);
  const { mutate } = test;
  useEffect(() => {
    if (!testAtOnce || begun.current) return;
    begun.current = true;
    mutate();
  }, [testAtOnce, mutate]);
  return (
    <li className="connection" aria-label={connection.name}>
      <div className="connection-head">
        <h3 className="ellipsis">{connection.name}</h3>
        <span className="connection-room" />
        {may && (
          <>
            <Button size="small" variant="quiet" icon={<PlugZap size={14} />} busy={test.isPending} onClick={() => mutate()}>
              Test
            </Button>
            <IconButton label={`Edit ${connection.name}`} icon={<Pencil size={14} />} onClick={onEdit} />
            <IconButton label={`Delete ${connection.name}`} icon={<Trash2 size={14} />} onClick={onDelete} />
          </>
        )}
      </div>
      <div className="connection-body">
        <code className="ellipsis" title={connection.base_url ?? undefined}>
          {connection.base_url}
        </code>
        <span className="faint">{connection.has_api_key ? `Key ${connection.api_key_hint ?? "is set"}` : "No key"}</span>
      </div>
      <Models models={connection.models} />
      <div aria-live="polite">
        {test.isPending && <p className="connection-result faint">Asking for its models…</p>}
        {test.data && !test.isPending && <Result connection={connection} check={test.data} />}
        {test.error && !test.isPending && <Bad text={messageOf(test.error)} />}
      </div>
    </li>
  );
}

const SHOWN = 12;

function Models({ models }: { models: string[] }) {
  if (models.length === 0) return <p className="connection-models muted">No models yet: test the connection to see what it has.</p>;
  return (
    <p className="connection-models">
      {models.slice(0, SHOWN).map((model) => (
        <code key={model}>{model}</code>
      ))}
      {models.length > SHOWN && (
        <span className="faint" title={models.slice(SHOWN).join(", ")}>
          and {plural(models.length - SHOWN, "other")}
        </span>
      )}
    </p>
  );
}

function Bad({ text }: { text: string }) {
  return (
    <p className="connection-result connection-bad">
      <CircleAlert size={14} aria-hidden="true" /> {text}
    </p>
  );
}

/** What the address said: its models, which of ours it lacks, and a way to take the rest. */
function Result({ connection, check }: { connection: Connection; check: ConnectionCheck }) {
  const save = useSaveConnection(connection.id);
  if (!check.ok) return <Bad text={check.error ?? "It did not answer as it should"} />;
  const lacking = connection.models.filter((model) => !check.models.includes(model));
  const others = check.models.filter((model) => !connection.models.includes(model));
  const take = () =>
    save.mutate({ models: [...connection.models, ...others] }, { onError: (error) => announce(`Not added: ${messageOf(error)}`, "error") });
  return (
    <p className="connection-result">
      <CircleCheck size={14} aria-hidden="true" className="connection-good" />
      <span>
        It answers and has {plural(check.models.length, "model")}.{lacking.length > 0 && ` Not among them: ${lacking.join(", ")}.`}
      </span>
      {others.length > 0 && (
        <Button size="small" busy={save.isPending} onClick={take} title={others.slice(0, 40).join("\n")}>
          Add the {connection.models.length > 0 ? "other " : ""}
          {others.length}
        </Button>
      )}
    </p>
  );
}
